/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives a stopped thread its caches back. While it stands for some milliseconds, whatever else runs on its
 * core, of the host's too, takes them, and what is timed after that is the way back: a search through 640 KB
 * takes 1.9 times as long in the 10 us after 2 ms of standing still, and 1.05 times 0.1 ms later
 * (docs/lab/bursts.md); not at all where the 640 KB were read before. So the pages that the first half of its
 * trace touches are read on its own CPU before it goes on.
 *
 * Only the first half's, because it is in the second that it is timed: what the thread comes to for the first
 * time there, as a stream does, it had not in its caches either. */
#include "sampler/burst/runner/warm_caches.h"
#include "sampler/burst/runner/keep_cpu_awake.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/timing_model.h"

#define TABLE 1024

static uint64_t until; /* TSC */
static uint32_t asked;
static bool reading;

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

void cache_warming_begin(const struct run *run, const struct registers *registers, uint32_t tid,
                         uint64_t ticks_a_us)
{
    static uint64_t table[TABLE];
    _Static_assert(CACHE_WARMING_PAGES_MAX < TABLE, "an empty slot ends a search");
    const uint8_t *half = run->start + (run->end - run->start) / 2;
    uint64_t begin = tsc();
    until = begin + CS_MODEL_WARMING_WAIT_NS / 1000 * ticks_a_us;
    asked = 0;
    reading = idle_keeper_read_begin((int32_t)tid);
    if (!reading)
        return;
    memset(table, 0, sizeof table);
    unsigned number = 0, last_new = 0;
    for (const uint8_t *p = run->start; p < half && number < last_new + CS_MODEL_WARMING_STALE;
         p = record_next(p), number++) {
        const struct block *block = record_block(p);
        const struct memory_op *op = &memory_ops[block->first_op];
        if (number % 64 == 0 && tsc() > begin + CS_MODEL_WARMING_WALK_NS / 1000 * ticks_a_us)
            return;
        for (unsigned i = 0; i < block->n_ops; i++) {
            uint64_t page = operand_address(&op[i], record_slots(p), registers) & ~(PAGE - 1);
            if (!is_new(table, page))
                continue;
            if (asked == CACHE_WARMING_PAGES_MAX)
                return;
            idle_keeper_read(page);
            asked++;
            last_new = number;
        }
    }
}

/* Nothing is read as long as the CPU is somebody else's. */
bool cache_warming_end(void)
{
    uint32_t left = reading ? idle_keeper_unread() : 0;
    while (left && left < asked && tsc() < until) {
        __asm__ volatile("pause");
        left = idle_keeper_unread();
    }
    return reading && !left;
}
