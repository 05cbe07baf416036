/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The row of a DWARF line table that holds one address, found by running the line program until it passes
 * that address. No table is built and sorted, which takes libdw seven times as long even in small units.
 * `bench/run image-readers` shows that the rows are the same. For few questions; who asks often lets libdw
 * build it. DWARF 2 to 5, 32-bit format, little-endian; anything else, and whatever is damaged, is not
 * found. Internal to lines.c; pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes_of {
    const uint8_t *at;
    size_t n;
};

struct line_sections { /* those that are missing are empty */
    struct bytes_of line, line_str, str;
};

struct line_row {
    unsigned line, column, discriminator;
    const char *file,
        *folder; /* within the sections; folder "" = the unit's own, else it may be relative to that */
};

/* `at`: where the unit's program begins in .debug_line (DW_AT_stmt_list). */
bool line_program_find(const struct line_sections *sections, uint64_t at, uint64_t address,
                       struct line_row *row);
