/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address spaces of a recorded run: which image lay where in which process, as of the record being replayed.
 * Mappings of one process never overlap (a later one cuts what it covers); a child shares its parent's list
 * until either changes. Depends on nothing. Not thread-safe. Find: O(log n). */
#pragma once

#include <stdint.h>

struct cs_import_mapping {
    uint64_t start, end;  /* [start, end) */
    uint64_t page_offset; /* file offset of `start` */
    unsigned image;       /* the caller's index */
};

struct cs_import_spaces;

struct cs_import_spaces *cs_import_spaces_open(void); /* NULL when memory is short */
void cs_import_spaces_close(struct cs_import_spaces *spaces);
/* All return 0 or -ENOMEM. */
int cs_import_spaces_map(struct cs_import_spaces *spaces, uint32_t pid,
                         const struct cs_import_mapping *mapping);
int cs_import_spaces_fork(struct cs_import_spaces *spaces, uint32_t parent, uint32_t child);
int cs_import_spaces_exec(struct cs_import_spaces *spaces, uint32_t pid);
const struct cs_import_mapping *cs_import_spaces_find(const struct cs_import_spaces *spaces, uint32_t pid,
                                                      uint64_t addr);
