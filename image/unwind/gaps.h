/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known about code without descriptions. It may be stubs of a linker that doesn't describe them, a signal's
 * return code, the program's entry, or Go's functions. Internal to image/unwind/. */
#pragma once

#include "image/file/elf.h"
#include "image/unwind/go.h"

#define UNWIND_CODE_PIECES_MAX 16

struct unwind_gaps {
    const struct elf_file *file;
    struct unwind_piece {
        uint64_t start, end;
    } code[UNWIND_CODE_PIECES_MAX]; /* ascending */
    unsigned n_code;                /* at least 1, which may be empty */
    struct unwind_stubs {
        uint64_t start, end;
        struct cs_unwind_rule rule, first; /* first: of the first entry, where it differs */
        uint64_t first_end;
    } stubs[4];
    unsigned n_stubs;
    bool is_go, has_go_table;
    struct go_table go;
};

void unwind_gaps_init(struct unwind_gaps *gaps, const struct elf_file *file);
/* Fills the table from where it ends up to `to`. */
void unwind_gaps_fill(const struct unwind_gaps *gaps, struct unwind_build *build, uint64_t to);
