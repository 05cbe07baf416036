/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives a stopped thread its caches back. While it is stopped for some milliseconds, whatever else runs on
 * its core, of the host's too, takes them. What is timed after that is the way back. A search through 640 KB
 * takes 1.9 times as long in the 10 us after a stop of 2 ms. A tenth of a millisecond later it takes 1.05
 * times as long (docs/lab/bursts.md). It doesn't where the 640 KB were read before. So the pages that the
 * first half of its trace touches are read on its own CPU before it goes on.
 *
 * Only the first half's, because it is timed in the second. What the thread comes to for the first time
 * there, as a stream does, was not in its caches either. */
#include "sampler/burst/replayer/trace/warm_caches.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/timing_model.h"

#define TABLE 1024

/* Is it the first time? */
static bool is_new(uint64_t table[TABLE], uint64_t page)
{
    unsigned slot = (unsigned)((page >> 12) * 0x9e3779b97f4a7c15ULL >> 40) % TABLE;
    while (table[slot] && table[slot] != page)
        slot = (slot + 1) % TABLE;
    bool found = table[slot] == page;
    table[slot] = page;
    return !found;
}

uint64_t cache_warming_list(struct warm_pages *pages, const struct run *run,
                            const struct registers *registers, uint64_t ticks_a_us)
{
    static uint64_t table[TABLE];
    _Static_assert(WARM_PAGES_MAX < TABLE, "an empty slot ends a search");
    const uint8_t *half = run->start + (run->end - run->start) / 2;
    uint64_t begin = tsc();
    uint32_t asked = 0;
    memset(table, 0, sizeof table);
    unsigned number = 0, last_new = 0;
    for (const uint8_t *p = run->start; p < half && number < last_new + CS_MODEL_WARMING_STALE;
         p = record_next(p), number++) {
        const struct block *block = record_block(p);
        const struct memory_op *op = &memory_ops[block->first_op];
        if (number % 64 == 0 && tsc() > begin + CS_MODEL_WARMING_WALK_NS / 1000 * ticks_a_us)
            return begin;
        for (unsigned i = 0; i < block->n_ops; i++) {
            uint64_t page = operand_address(&op[i], record_slots(p), registers) & ~(PAGE - 1);
            if (!is_new(table, page))
                continue;
            if (asked == WARM_PAGES_MAX)
                return begin;
            pages->page[asked++] = page;
            __atomic_store_n(&pages->asked, asked, __ATOMIC_RELEASE);
            last_new = number;
        }
    }
    return begin;
}
