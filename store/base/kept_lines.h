/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How source lines lie in the kept copy of JIT code, for its writer and its reader: FORMAT.md. */
#pragma once

#include <stdint.h>

/* Source lines in the copy of JIT code: two sections, of rows by ascending offset and of the texts that they speak of. */
#define CS_KEPT_LINES ".cyclescope.lines"
#define CS_KEPT_FILES ".cyclescope.files"

/* From `offset` to the next row's, within a method. */
struct cs_kept_line {
    uint64_t offset;
    uint32_t line, column; /* 0: unknown */
    uint32_t file;         /* where its text begins; 0: "" */
    uint32_t zero;
};
