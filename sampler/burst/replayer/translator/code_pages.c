/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of the target's pages of code, only for the translator: nothing runs in them. Those that a burst
 * ran are compared with the target after it; when one differs, or belongs to another region now, all
 * translations go. */
#include "sampler/burst/replayer/translator/code_pages.h"
#include "sampler/burst/replayer/translator/regions.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"

#define CODE_PAGES_MAX 4096
struct code_page {
    uint64_t addr, identity;
    bool ran;
    uint8_t bytes[PAGE];
};
static struct code_page code_pages[CODE_PAGES_MAX];
static unsigned n_code_pages;
#define CODE_SLOTS (CODE_PAGES_MAX * 4)
static uint16_t code_slots[CODE_SLOTS];

static unsigned code_slot_of(uint64_t addr)
{
    unsigned slot = (unsigned)((addr >> 12) * 0x9e3779b97f4a7c15ULL >> 40) % CODE_SLOTS;
    while (code_slots[slot] && code_pages[code_slots[slot] - 1].addr != addr)
        slot = (slot + 1) % CODE_SLOTS;
    return slot;
}

static struct code_page *code_page(uint64_t addr)
{
    addr &= ~(PAGE - 1);
    unsigned slot = code_slot_of(addr);
    if (code_slots[slot])
        return &code_pages[code_slots[slot] - 1];
    const struct region *region = region_at(addr);
    if (n_code_pages == CODE_PAGES_MAX || (region && !region->x))
        return NULL;
    struct code_page *page = &code_pages[n_code_pages];
    if (region_would_wait(region, addr) ||
        SYS(__NR_pread64, CS_BURST_FD_MEMORY, page->bytes, PAGE, addr) != (long)PAGE)
        return NULL;
    page->addr = addr;
    page->identity = region_identity(region, addr);
    page->ran = false;
    code_slots[slot] = (uint16_t)++n_code_pages;
    return page;
}

unsigned code_bytes(uint64_t addr, uint8_t bytes[15], unsigned most)
{
    unsigned n = 0;
    while (n < most) {
        const struct code_page *page = code_page(addr + n);
        if (!page)
            break;
        uint64_t in_page = (addr + n) % PAGE, take = PAGE - in_page;
        if (take > most - n)
            take = most - n;
        memcpy(bytes + n, page->bytes + in_page, take);
        n += (unsigned)take;
    }
    return n;
}

void code_ran(uint64_t from, uint64_t to)
{
    for (uint64_t addr = from & ~(PAGE - 1); addr < to; addr += PAGE) {
        unsigned slot = code_slot_of(addr);
        if (code_slots[slot])
            code_pages[code_slots[slot] - 1].ran = true;
    }
}

bool code_unchanged(void)
{
    static uint8_t now[PAGE];
    bool same = true;
    for (unsigned i = 0; i < n_code_pages; i++) {
        struct code_page *page = &code_pages[i];
        if (!page->ran)
            continue;
        page->ran = false;
        if (region_would_wait(region_at(page->addr), page->addr) ||
            SYS(__NR_pread64, CS_BURST_FD_MEMORY, now, PAGE, page->addr) != (long)PAGE ||
            memcmp(now, page->bytes, PAGE))
            same = false;
    }
    return same;
}

bool code_moved(void)
{
    for (unsigned i = 0; i < n_code_pages; i++)
        if (region_identity(region_at(code_pages[i].addr), code_pages[i].addr) != code_pages[i].identity)
            return true;
    return false;
}

void code_forget(void)
{
    n_code_pages = 0;
    memset(code_slots, 0, sizeof code_slots);
}
