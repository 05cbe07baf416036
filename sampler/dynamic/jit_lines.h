/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source lines of the methods of one image, as they are kept (store/base/kept_lines.h). Bounded by what the caller gives. */
#pragma once

#include "sampler/dynamic/jitdump_lines.h"
#include "store/base/kept_lines.h"

/* Of a method. All-zero: none. */
struct cs_jit_lines {
    struct cs_kept_line *rows;
    size_t n;
};

/* In place of what was there, unless these are more than `most`. Texts that `files` lacks are added to it, up to
 * `files_max` bytes. True: something changed. */
bool cs_jit_lines_set(struct cs_jit_lines *of, uint64_t offset, const struct cs_jitdump_lines *lines,
                      size_t most, struct cs_bytes *files, size_t files_max);
/* The same of rows that were kept, all of one method. */
bool cs_jit_lines_take(struct cs_jit_lines *of, const struct cs_kept_line *rows, size_t n);
void cs_jit_lines_fini(struct cs_jit_lines *of);
