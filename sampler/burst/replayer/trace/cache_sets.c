/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/burst/replayer/trace/cache_sets.h"
#include "sampler/burst/runner/libc.h"

#include <cpuid.h>

void cache_sets_begin(struct cache_sets *sets, unsigned ways)
{
    memset(sets, 0, sizeof *sets);
    sets->ways = ways && ways < CACHE_WAYS_MAX ? ways : CACHE_WAYS_MAX;
}

bool cache_sets_use(struct cache_sets *sets, uint64_t line)
{
    uint64_t *at = sets->line[line % CACHE_SETS];
    unsigned place = 0;
    while (place < sets->ways && at[place] != line + 1)
        place++;
    const bool kept = place < sets->ways;
    for (unsigned i = kept ? place : sets->ways - 1; i > 0; i--)
        at[i] = at[i - 1];
    at[0] = line + 1;
    return kept;
}

/* Leaf 4 is Intel's, 0x8000001d AMD's, in the same form: kind 1 is data, and the ways less one are in the top ten bits. */
unsigned cache_sets_ways_here(void)
{
    static const unsigned leaves[] = {4, 0x8000001d};
    for (unsigned i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        unsigned a = 0, b = 0, c = 0, d = 0;
        if (__get_cpuid_count(leaves[i], 0, &a, &b, &c, &d) && (a & 31) == 1 && (a >> 5 & 7) == 1)
            return (b >> 22) + 1;
    }
    return 0;
}
