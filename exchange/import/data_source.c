/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Layout of union perf_mem_data_src from bit 0, [bits]: operation [5], level set [14], snoop [5],
 * lock [2], TLB [7], level number [4], remote [1]. Newer kernels fill the number, older ones only the set. */
#include "exchange/import/data_source.h"

const char *cs_data_source_op(uint64_t source)
{
    return source & 2 ? "load" : source & 4 ? "store" : source & 8 ? "prefetch" : "";
}

static const char *level_of_number(uint64_t source)
{
    static const char *const names[16] = {
        "",         "L1",     "L2",  "L3", "L4",  "LFB",    "memory", "", /* 5, 6: miss buffer, side cache */
        "uncached", "memory", "I/O", "",   "LFB", "memory", "memory", ""};
    return names[source >> 33 & 15];
}

/* The highest level of the set answered, where it says "hit"; "" of a miss: where it was found isn't said. */
static const char *level_of_set(uint64_t source)
{
    static const struct {
        unsigned bit;
        const char *name;
    } levels[] = {{3, "L1"},
                  {4, "LFB"},
                  {5, "L2"},
                  {6, "L3"},
                  {7, "memory"},
                  {8, "remote memory"},
                  {9, "remote memory"},
                  {10, "remote cache"},
                  {11, "remote cache"},
                  {12, "I/O"},
                  {13, "uncached"}};
    uint64_t set = source >> 5 & 0x3fff;
    const char *name = "";
    for (unsigned i = 0; i < sizeof levels / sizeof *levels; i++)
        if (set & 2 && set >> levels[i].bit & 1)
            name = levels[i].name;
    return name;
}

const char *cs_data_source_level(uint64_t source)
{
    enum { REMOTE = 37 };
    const char *name = level_of_number(source);
    if (!*name)
        return level_of_set(source);
    if (source >> REMOTE & 1)
        return *name == 'm' ? "remote memory" : "remote cache";
    return name;
}

bool cs_data_source_tells(uint64_t source)
{
    enum { TLB_NOT_AVAILABLE = 1 };
    return *cs_data_source_op(source) || *cs_data_source_level(source) ||
           (source >> 26 & 0x7f & ~(uint64_t)TLB_NOT_AVAILABLE);
}

bool cs_data_source_missed_tlb(uint64_t source)
{
    enum { MISS = 4, FIRST = 8, BEYOND = 16 | 32 | 64 }; /* Intel says first or second, where it can't tell */
    uint64_t tlb = source >> 26 & 0x7f;
    return tlb & MISS || (tlb & BEYOND && !(tlb & FIRST));
}
