/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks up the target's memory map, which the holder has read between bursts (never while a thread is stopped).
 * A region's identity is a hash. It covers what decides whether a copy of one of its pages can still be right:
 * file, position in it, permissions. */
#include "sampler/burst/replayer/translator/regions.h"
#include "sampler/burst/runner/present_pages.h"
#include "store/base/bisect.h"

#include <stddef.h>

#define regions boundary->regions
#define n_regions boundary->ask.n_regions

/* Index of the first region that ends above addr. */
static unsigned above(uint64_t addr)
{
    return cs_bisect((unsigned)n_regions, i, regions[i].end <= addr);
}

const struct region *region_at(uint64_t addr)
{
    unsigned i = above(addr);
    return i < n_regions && regions[i].start <= addr ? &regions[i] : NULL;
}

const struct region *region_stack_above(uint64_t addr)
{
    unsigned i = above(addr);
    return i < n_regions && regions[i].kind == REGION_STACK && regions[i].start - addr < 8 << 20 ? &regions[i]
                                                                                                 : NULL;
}

bool region_would_wait(const struct region *region, uint64_t addr)
{
    uint8_t state = PAGE_OWN;
    if (region && region->may_wait)
        present_pages(addr, 1, &state);
    return state == PAGE_ABSENT;
}

uint64_t region_identity(const struct region *region, uint64_t addr)
{
    return region ? region_mix(region->identity, addr & ~(PAGE - 1)) : 0;
}

bool regions_overlap(uint64_t from, uint64_t to)
{
    unsigned i = above(from);
    return i < n_regions && regions[i].start < to;
}
