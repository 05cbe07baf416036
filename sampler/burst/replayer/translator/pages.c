/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of the target's pages. Data pages sit at their own addresses. Those that the target can write are
 * copied again at the start of each burst if enough of the last bursts used them, else dropped. A copy costs
 * some 1.3 us, a fault 10. Those of files that it can't write stay until its memory map changes.
 *
 * Invariant: while a burst runs, a mapped page outside of the runner is a copy made during this burst. Or it
 * is of a file that the target can't write and whose region is unchanged. */
#include "sampler/burst/replayer/translator/pages.h"
#include "sampler/burst/replayer/translator/fault_windows.h"
#include "sampler/burst/replayer/translator/regions.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/present_pages.h"
#include "sampler/burst/runner/sys.h"

#include <sys/mman.h>

#define PAGES_MAX KEPT_MAX
#define PAGES_A_BURST 1024
#define PAGES_A_LONG_BURST 8192
#define PAGES_WARM 1024
#define NEIGHBOURS                                                                                           \
    (WINDOW_BRING_MAX / PAGE) /* power of two: pages that a fault of a long burst brings, at most */
#define KEEP_START 28         /* a new page is kept for two bursts more */
#define KEEP_MIN 45

struct page {
    uint64_t addr, identity;
    bool writable; /* by the target: must be copied again */
    bool fleeting; /* not, but it may have become so since the map was read: dropped after the burst */
    bool touched;
    bool alone; /* a mapping of its own: in no window */
    uint16_t original;
    uint8_t keep; /* decaying share of bursts that touched it */
};
static struct page pages[PAGES_MAX];
static unsigned n_pages, n_burst;
unsigned pages_faulted;
bool pages_many;
/* As they were when the thread stood, of those that the target can write: what a burst is run once more from.
 * The holder fills the first of them. */
#define originals boundary->page
static unsigned n_originals, originals_warm;
static bool frozen;
struct clock_pages clock_pages[CLOCK_PAGES_MAX];
unsigned n_clock_pages;

/* Open addressing; values are 1 + index. Rebuilt when pages leave. */
#define SLOTS (PAGES_MAX * 4)
static uint16_t slots[SLOTS];

static unsigned slot_of(uint64_t addr)
{
    unsigned slot = (unsigned)((addr >> 12) * 0x9e3779b97f4a7c15ULL >> 40) % SLOTS;
    while (slots[slot] && pages[slots[slot] - 1].addr != addr)
        slot = (slot + 1) % SLOTS;
    return slot;
}

static struct page *page_of(uint64_t addr)
{
    unsigned slot = slot_of(addr & ~(PAGE - 1));
    return slots[slot] ? &pages[slots[slot] - 1] : NULL;
}

void page_touched(uint64_t addr)
{
    struct page *page = page_of(addr);
    if (page)
        page->touched = true;
}

static enum cs_burst_cause clock_page(const struct region *region)
{
    for (unsigned i = 0; i < n_clock_pages; i++) {
        if (!clock_pages[i].at || clock_pages[i].bytes != region->end - region->start)
            continue;
        long moved = SYS(__NR_mremap, clock_pages[i].at, clock_pages[i].bytes, clock_pages[i].bytes,
                         MREMAP_MAYMOVE | MREMAP_FIXED, region->start);
        if (moved != (long)region->start)
            return CS_BURST_CLOCK_PAGE;
        clock_pages[i].at = 0;
        return CS_BURST_FULL;
    }
    return CS_BURST_CLOCK_PAGE;
}

/* Copies of [from, to), none of which is there yet. How many bytes from `from` on came, -1 when there is no
 * place for them. */
static long bring(uint64_t from, uint64_t to, const struct region *region)
{
    uint64_t window, window_end;
    if (window_at(from, &window, &window_end))
        return to <= window_end ? window_bring(from, to) : -1;
    long at = SYS(__NR_mmap, from, to - from, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_POPULATE, -1, 0);
    if (at != (long)from)
        return -1;
    long bytes = SYS(__NR_pread64, CS_BURST_FD_MEMORY, from, to - from, from);
    if (!region && region_stack_above(from))
        return (long)(to - from); /* the stack will grow: zeros */
    uint64_t got = bytes > 0 ? (uint64_t)bytes & ~(PAGE - 1) : 0;
    if (got < to - from)
        SYS(__NR_munmap, from + got, to - from - got);
    if (got && region && !region->w && !region->shared)
        SYS(__NR_mprotect, from, got, PROT_READ);
    return (long)got;
}

static void add(uint64_t addr, const struct region *region, bool touched)
{
    bool writable = !region || region->w || region->shared;
    uint64_t from, to;
    pages[n_pages] = (struct page){.addr = addr,
                                   .identity = region_identity(region, addr),
                                   .writable = writable,
                                   .fleeting = !writable && region->kind != REGION_FILE,
                                   .touched = touched,
                                   .alone = !window_at(addr, &from, &to),
                                   .keep = touched ? KEEP_START : 0};
    if (writable && pages_many) {
        pages[n_pages].original = (uint16_t)n_originals;
        memcpy(originals[n_originals++], (const void *)addr, PAGE);
    }
    slots[slot_of(addr)] = (uint16_t)++n_pages;
    n_burst++;
}

/* The page and those around it that are not there yet, in one go; of those around it what the target has in memory. */
static bool page_in_with_neighbours(uint64_t addr, const struct region *region)
{
    uint64_t least = addr & ~(NEIGHBOURS * PAGE - 1), from = addr, to = addr + PAGE;
    uint8_t state[NEIGHBOURS];
    present_pages(least, NEIGHBOURS, state);
    while (from > least && from > region->start && state[(from - least) / PAGE - 1] && !page_of(from - PAGE))
        from -= PAGE;
    while (to < least + NEIGHBOURS * PAGE && to < region->end && state[(to - least) / PAGE] && !page_of(to))
        to += PAGE;
    uint64_t window, window_end;
    if (window_at(addr, &window, &window_end)) {
        from = from < window ? window : from;
        to = to > window_end ? window_end : to;
    }
    long got = bring(from, to, region);
    for (uint64_t at = from; got > 0 && at < from + (uint64_t)got; at += PAGE)
        add(at, region, at == addr);
    return got > 0 && addr < from + (uint64_t)got; /* else let it be tried alone */
}

enum cs_burst_cause page_in(uint64_t addr, bool write)
{
    addr &= ~(PAGE - 1);
    struct page *page = page_of(addr);
    const struct region *region = region_at(addr);
    if (page || (frozen && !(region && region->kind == REGION_STACK)))
        return CS_BURST_FAULT; /* it is there: a store to what the target can't write */
    if (region && region->kind == REGION_CLOCK)
        return clock_page(region);
    if (region && (region->kind == REGION_DEVICE || region_would_wait(region, addr)))
        return CS_BURST_UNREADABLE;
    if (region && (!(region->r || region->w) || (write && !region->w)))
        return CS_BURST_FAULT;
    if (n_burst >= (pages_many ? PAGES_A_LONG_BURST : PAGES_A_BURST) || n_pages + NEIGHBOURS > PAGES_MAX ||
        n_originals + NEIGHBOURS > PAGES_MAX)
        return CS_BURST_FOOTPRINT;
    pages_faulted++;
    if (region)
        window_make(region, addr);
    if (pages_many && region && page_in_with_neighbours(addr, region))
        return CS_BURST_FULL;
    long got = bring(addr, addr + PAGE, region);
    if (got <= 0)
        return !got && region ? CS_BURST_UNREADABLE : CS_BURST_FAULT;
    add(addr, region, true);
    return CS_BURST_FULL;
}

static void take_away(const struct page *page)
{
    if (page->alone)
        SYS(__NR_munmap, page->addr, PAGE);
    else
        window_drop(page->addr);
}

void pages_ask(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < n_pages; i++)
        if (pages[i].writable) {
            boundary->kept[n] = pages[i].addr;
            pages[i].original = (uint16_t)n++;
        }
    boundary->n_kept = n;
    for (; originals_warm < n; originals_warm++)
        *(volatile uint8_t *)originals[originals_warm] = 0;
}

void pages_refresh(void)
{
    pages_faulted = n_burst = 0;
    n_originals = boundary->n_kept;
    for (unsigned i = 0; i < n_pages; i++) {
        struct page *page = &pages[i];
        if (!page->writable)
            continue;
        if (boundary->kept_there[page->original]) {
            memcpy((void *)page->addr, originals[page->original], PAGE);
            continue;
        }
        take_away(page);
        page->keep = 0;
        page->writable = false; /* nothing there: forgotten when the burst is over */
        page->identity = 0;
    }
    window_drop_done();
}

void pages_rewind(void)
{
    frozen = true;
    for (unsigned i = 0; i < n_pages; i++)
        if (pages[i].writable)
            memcpy((void *)pages[i].addr, originals[pages[i].original], PAGE);
}

bool page_word(uint64_t addr, uint64_t *before, uint64_t *after)
{
    const struct page *page = page_of(addr);
    if (!page || !page->writable)
        return false;
    *before = *(const uint64_t *)(originals[page->original] + addr % PAGE);
    *after = *(const uint64_t *)addr;
    return true;
}

uint64_t page_changed_word(uint64_t random)
{
    enum { WORDS = PAGE / 8 };
    const struct page *page = &pages[random % (n_pages + !n_pages)];
    if (!n_pages || !page->writable)
        return 0;
    const uint64_t *before = (const uint64_t *)originals[page->original],
                   *after = (const uint64_t *)page->addr;
    unsigned first = (unsigned)(random >> 20) % WORDS;
    for (unsigned i = 0; i < WORDS; i++)
        if (before[(first + i) % WORDS] != after[(first + i) % WORDS])
            return page->addr + 8 * (uint64_t)((first + i) % WORDS);
    return 0;
}

void pages_prepare(void)
{
    for (unsigned i = 0; i < PAGES_WARM; i++)
        *(volatile uint8_t *)originals[i] = 0;
}

void pages_rest(void)
{
    originals_warm = 0; /* the holder gives them back */
}

static void rebuild(void)
{
    memset(slots, 0, sizeof slots);
    for (unsigned i = 0; i < n_pages; i++)
        slots[slot_of(pages[i].addr)] = (uint16_t)(i + 1);
}

/* By address. */
static void sort(void)
{
    for (unsigned gap = n_pages / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (unsigned i = gap; i < n_pages; i++) {
            struct page page = pages[i];
            unsigned k = i;
            for (; k >= gap && pages[k - gap].addr > page.addr; k -= gap)
                pages[k] = pages[k - gap];
            pages[k] = page;
        }
}

static void drop(unsigned i)
{
    take_away(&pages[i]);
    pages[i] = pages[--n_pages];
}

void pages_settle(void)
{
    frozen = false;
    unsigned before = n_pages;
    for (unsigned i = 0; i < n_pages;) {
        struct page *page = &pages[i];
        unsigned keep = page->keep - page->keep / 8U + (page->touched ? 31U : 0U);
        page->keep = (uint8_t)(keep > 255 ? 255 : keep);
        page->touched = false;
        if (page->writable ? page->keep < KEEP_MIN
                           : page->fleeting || !page->identity || n_pages > PAGES_MAX / 2)
            drop(i);
        else
            i++;
    }
    window_drop_done();
    if (n_pages != before || n_burst) {
        sort();
        rebuild();
    }
}

void pages_forget_changed(void)
{
    windows_forget_changed();
    for (unsigned i = 0; i < n_pages;) {
        struct page *page = &pages[i];
        const struct region *region = region_at(page->addr);
        uint64_t from, to;
        bool there = page->alone || window_at(page->addr, &from, &to);
        if (there && region && region_identity(region, page->addr) == page->identity)
            i++;
        else if (there)
            drop(i);
        else /* gone with its window */
            *page = pages[--n_pages];
    }
    window_drop_done();
    sort();
    rebuild();
}
