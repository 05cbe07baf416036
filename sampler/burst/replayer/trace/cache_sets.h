/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The 64 sets of the first-level data cache, by bits 6 to 11 of an address. Each has the lines that were used last. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CACHE_SETS 64
#define CACHE_WAYS_MAX 16

struct cache_sets {
    unsigned ways;
    uint64_t line[CACHE_SETS][CACHE_WAYS_MAX]; /* 1 + line, the youngest first; 0: none yet */
};

/* `ways` beyond CACHE_WAYS_MAX, or 0 where nobody knows: so many as any processor has. */
void cache_sets_begin(struct cache_sets *sets, unsigned ways);
/* Uses a line. Is it one that its set still has? */
bool cache_sets_use(struct cache_sets *sets, uint64_t line);
/* Of this processor; 0: it doesn't say. */
unsigned cache_sets_ways_here(void);
