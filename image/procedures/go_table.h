/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Go's own table of functions (.gopclntab, Go 1.18 and later), which is there in stripped programs too. Internal to image/. */
#pragma once

#include "image/file/elf.h"

#define GO_TABLE_HEAD_BYTES 44 /* of a function, at least */

struct go_table {
    const uint8_t *table;
    size_t n;
    uint64_t text;                          /* what entries are relative to */
    uint64_t functions, steps, n_functions; /* places in the table */
    unsigned flag_at, quantum;
    uint32_t machine;
};

/* False where the file has no such table or one of another version. */
bool go_table_init(struct go_table *go, const struct elf_file *file);
/* Function i of n_functions and its name, which is text of the table. False where the table makes no sense there. */
bool go_table_function(const struct go_table *go, uint64_t i, uint64_t *start, uint64_t *end,
                       const char **name);
/* Where function i begins; n_functions: where the last one ends. */
uint64_t go_table_entry(const struct go_table *go, uint64_t i);
/* A number of `bytes` at a place of the table; 0 beyond its end. */
uint64_t go_table_word(const struct go_table *go, uint64_t at, unsigned bytes);
