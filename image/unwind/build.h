/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts a table of rows.h together, row after row. Internal to image/unwind/. */
#pragma once

#include "image/file/elf.h"
#include "image/unwind/rows.h"
#include "image/unwind/unwind.h"

#include <stddef.h>
#include <stdint.h>

struct unwind_build {
    struct cs_unwind_header header;
    __u32 *first;
    struct cs_unwind_row *rows;
    struct cs_unwind_rule *rules;
    uint32_t *hashed; /* places in rules + 1 */
    size_t rows_capacity, rules_capacity, hash_size;
    uint64_t next;      /* first offset without a rule */
    uint32_t last_rule; /* of next - 1 */
    int failed;         /* -ENOMEM */
};

/* Of code from `start` to `end`, ELF virtual addresses less than 4 GB apart. 0 or -ENOMEM. */
int unwind_build_init(struct unwind_build *build, uint32_t machine, uint64_t start, uint64_t end);
void unwind_build_fini(struct unwind_build *build);
/* `rule` holds up to the address `to`, from where the last call ended; nothing when that is already further. */
void unwind_build_up_to(struct unwind_build *build, uint64_t to, const struct cs_unwind_rule *rule);
/* Closes the table (the rest has no rule) and returns it in one piece (malloc), NULL when memory is out. */
struct cs_unwind_header *unwind_build_table(struct unwind_build *build, size_t *n);

size_t unwind_table_size(const struct cs_unwind_header *header);

/* frames.c: the whole table of a file (malloc), or NULL and `err` is filled. `other_debug`: a separate debug file took
 * part. */
struct cs_unwind_header *unwind_of_elf(const struct elf_file *file, size_t *n, bool *other_debug,
                                       struct cs_error *err);

/* unwind.c: of a table that somebody else made in n bytes that are mapped, which go with it, also on failure. Kept on disk as
 * that of the file `path` (NULL: not kept). -ENOEXEC: it isn't whole. */
int unwind_of_map(void *map, size_t n, const char *path, struct cs_unwind **out);
