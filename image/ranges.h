/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nested address ranges: which is the innermost one around an address? Symbols nest (aliases, entry points
 * inside a routine), so do inlined calls. Ranges may come in any order and may overlap badly (damaged files):
 * a range that straddles the end of the one around it is cut there, empty ones are dropped.
 *
 * Internal to analysis/. Cost: O(n log n) to sort once, O(log n + depth) to find. */
#ifndef CS_ANALYSIS_RANGES_H
#define CS_ANALYSIS_RANGES_H

#include <stddef.h>
#include <stdint.h>

struct cs_range {
    uint64_t low, high; /* [low, high) */
    uint32_t id;        /* the owner's index */
    uint32_t parent;    /* index of the range around it, CS_RANGE_NONE at the top; set by cs_ranges_nest */
};

#define CS_RANGE_NONE UINT32_MAX

struct cs_ranges {
    struct cs_range *range;
    uint32_t n, room;
};

int cs_ranges_add(struct cs_ranges *ranges, uint64_t low, uint64_t high, uint32_t id); /* 0, -ENOMEM */
/* Sorts and links. Of two equal ranges the one with the greater id becomes the inner one. Call once, after
 * the last add. */
void cs_ranges_nest(struct cs_ranges *ranges);
/* Index of the innermost range that holds `at`, or CS_RANGE_NONE. */
uint32_t cs_ranges_find(const struct cs_ranges *ranges, uint64_t at);
void cs_ranges_fini(struct cs_ranges *ranges);

#endif
