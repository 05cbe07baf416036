/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sheet in memory and its three renderings; used by output.c alone. */
#ifndef CS_CLI_SHEET_H
#define CS_CLI_SHEET_H

#include "cli/output/output.h"

#include <stdio.h>

struct sheet *sheet_open(const char *name, const struct column *columns, unsigned n_columns);
void sheet_close(struct sheet *sheet);
const char *sheet_name(const struct sheet *sheet);
/* width 0 = as wide as it gets. Returns the number of lines. */
size_t sheet_print_text(const struct sheet *sheet, FILE *to, unsigned width, bool colour);
void sheet_print_csv(const struct sheet *sheet, FILE *to);
json_t *sheet_to_json(const struct sheet *sheet);

/* `text` with control characters and broken UTF-8 replaced: safe for a terminal. The caller frees it. */
char *text_clean(const char *text);
/* Ends the program for want of memory. */
void *need(void *pointer);

#endif
