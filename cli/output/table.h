/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table in memory and its three renderings. Only output.c uses it. */
#pragma once

#include "cli/output/output.h"

#include <stdio.h>

struct table *table_open(const char *name, const struct column *columns, unsigned n_columns);
void table_close(struct table *table);
const char *table_name(const struct table *table);
/* width 0 = as wide as it gets. Returns the number of lines. */
size_t table_print_text(struct table *table, FILE *to, unsigned width, bool colour);
void table_print_csv(const struct table *table, FILE *to);
json_t *table_to_json(const struct table *table);

/* `text` cleaned (store/base/text.h): safe for a terminal. The caller frees it. */
char *text_clean(const char *text);
