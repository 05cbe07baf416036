/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address spaces of a recorded run: which image lay where in which process, as of the record being replayed.
 * Mappings of one process never overlap (a later one cuts what it covers); a child shares its parent's list
 * until either changes. Depends on nothing. Not thread-safe. Find: O(log n). */
#ifndef CS_ANALYSIS_SPACES_H
#define CS_ANALYSIS_SPACES_H

#include <stdint.h>

struct cs_mapping {
    uint64_t start, end;  /* [start, end) */
    uint64_t page_offset; /* file offset of `start` */
    unsigned image;       /* the caller's index */
};

struct cs_spaces;

struct cs_spaces *cs_spaces_open(void); /* NULL when memory is short */
void cs_spaces_close(struct cs_spaces *spaces);
/* All return 0 or -ENOMEM. */
int cs_spaces_map(struct cs_spaces *spaces, uint32_t pid, const struct cs_mapping *mapping);
int cs_spaces_fork(struct cs_spaces *spaces, uint32_t parent, uint32_t child);
int cs_spaces_exec(struct cs_spaces *spaces, uint32_t pid);
const struct cs_mapping *cs_spaces_find(const struct cs_spaces *spaces, uint32_t pid, uint64_t addr);

#endif
