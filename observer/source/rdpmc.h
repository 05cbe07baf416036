/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading a hardware counter from user space, specialised: width known beforehand, no scaling, no retry. A
 * counter that is not scheduled (index 0), or whose page changes while it is read, gives an unread sample,
 * which filtering drops by name. The next sample comes soon enough.
 *
 * Right only on the CPU and in the thread that the event counts. The page's seqlock is written by this CPU's
 * kernel, so compiler barriers are enough. Cost: 30 to 40 cycles, nearly all of it the instruction. */
#pragma once

#include "observer/source/arch.h" /* cs_rdpmc */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define CS_BARRIER() __asm__ volatile("" : : : "memory")

struct cs_pmc {
    const volatile struct perf_event_mmap_page *page;
    unsigned width; /* bits of the counter, 1 to 64 */
    /* A part that is taken off: of a core's event the observer's own share. NULL: nothing. Between the two readings the
     * observer executes the same instructions each time, so that differences of two samples are exact. */
    const struct cs_pmc *own;
    /* Of a core's event, the page's sequence at the last reading. It changes when the kernel takes the counter away and gives
     * it back: while the observer had lost its CPU, nobody counted the target. NULL: that isn't asked. */
    uint32_t *sequence;
};

static inline uint64_t cs_pmc_read_whole(const struct cs_pmc *pmc, bool *complete)
{
    const volatile struct perf_event_mmap_page *page = pmc->page;
    uint32_t sequence = page->lock;
    CS_BARRIER();
    uint32_t index = page->index;
    int64_t offset = page->offset, count = 0;
    if (__builtin_expect(index != 0, 1)) {
        unsigned unused = 64 - pmc->width;
        count = (int64_t)(cs_rdpmc(index - 1) << unused) >> unused;
    } else {
        *complete = false;
    }
    CS_BARRIER();
    if (__builtin_expect(page->lock != sequence || (sequence & 1), 0))
        *complete = false;
    return (uint64_t)(offset + count);
}

/* Events so far; clears *complete when a counter could not be read. */
static inline uint64_t cs_pmc_read(const struct cs_pmc *pmc, bool *complete)
{
    uint64_t events = cs_pmc_read_whole(pmc, complete);
    if (pmc->own)
        events -= cs_pmc_read_whole(pmc->own, complete);
    if (pmc->sequence && __builtin_expect(*pmc->sequence != pmc->page->lock, 0)) {
        *pmc->sequence = pmc->page->lock;
        *complete = false;
    }
    return events;
}
