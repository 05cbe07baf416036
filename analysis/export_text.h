/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For exporters that write JSON by hand, row by row, so that no document has to fit in memory. */
#ifndef CS_ANALYSIS_EXPORT_TEXT_H
#define CS_ANALYSIS_EXPORT_TEXT_H

#include <stdio.h>

/* `text` as a JSON string, quotes included. */
void cs_export_json_string(FILE *to, const char *text);

#endif
