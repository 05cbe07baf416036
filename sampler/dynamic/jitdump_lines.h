/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source lines of a method out of its record in a jitdump file (JIT_CODE_DEBUG_INFO). They are rows of an address, a
 * line, a column and a file's name. A row holds from its address to the next one's. There is no stack of inlined calls
 * in it: of inlined code only file and line are known. Pure.
 *
 * V8's records are put right; the method's name tells that they are V8's ("JS:*turns /srv/a.js:4:15"):
 *   - Its addresses are 64 too high (kElfHeaderSize in its perf-jit.cc).
 *   - Newer ones write the method's own script for each row, also where code of another one was inlined. They may
 *     have freed that name before: it has the right length, but the first 16 bytes are the allocator's, with NULs in
 *     them. The next row then begins behind the first NUL where one can. The name is the method's script, if that has
 *     the length and the rest, else "". */
#pragma once

#include "store/base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_JITDUMP_LINES_MAX 8192u             /* of a method; more are left out */
#define CS_JITDUMP_LINES_FILES 64u             /* of a method: rows of further ones have no file */
#define CS_JITDUMP_LINES_FILE_MAX 512u         /* bytes of a name; a longer one is "" */
#define CS_JITDUMP_LINES_RECORD_MAX (1u << 20) /* bytes that are read of a record */

struct cs_jitdump_line {
    uint32_t at;           /* in the method's code */
    uint32_t line, column; /* line 0: unknown from here on */
    uint32_t file;         /* offset in `files`, of a text */
    uint32_t order;        /* in the record */
};

/* All-zero is empty. */
struct cs_jitdump_lines {
    struct cs_jitdump_line *rows; /* ascending, each `at` once */
    size_t n, capacity;
    struct cs_bytes files; /* texts; the first one is "" */
    uint32_t starts[CS_JITDUMP_LINES_FILES];
    unsigned n_files;
};

/* `record`: the whole or the beginning of it; `method` and `size`: name and bytes of the code. False: there are none. */
bool cs_jitdump_lines_read(struct cs_jitdump_lines *lines, const uint8_t *record, size_t n,
                           const char *method, uint64_t size);
void cs_jitdump_lines_fini(struct cs_jitdump_lines *lines);
