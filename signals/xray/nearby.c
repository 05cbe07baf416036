/* SPDX-License-Identifier: MIT */
/* A sled's call reaches 2 GiB; the library may be farther away. So a page of code lies near each image that has sleds, or
 * near several. Pages are never given back: threads may be in them. */
#include "signals/xray/xray.h"

#include <string.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define PAGES_MAX 64u
#define PAGE 4096u
#define REACH 0x7fff0000u
#define STEP 0x10000u
#define TRIES 4096u

static uintptr_t pages[PAGES_MAX];
static unsigned n_pages;

bool xray_is_page(uintptr_t at)
{
    for (unsigned i = 0; i < n_pages; i++)
        if (pages[i] == at)
            return true;
    return false;
}

static bool reaches(uintptr_t page, uintptr_t low, uintptr_t high)
{
    return page != 0 && (high <= page || high - page < REACH) && (page <= low || page - low < REACH);
}

static void put_displacement(unsigned char *at, const unsigned char *target)
{
    const int32_t displacement = (int32_t)(target - (at + 4));
    memcpy(at, &displacement, 4);
}

static void write_code(unsigned char *page)
{
    const void *targets[] = {xray_entered, xray_left, xray_left_by_tail};
    memcpy(page, targets, sizeof targets);
    /* movslq %r10d, %r10; lea page(%rip), %r11; add %r11, %r10; jmp *xray_entered */
    static const unsigned char enter[] = {0x4d, 0x63, 0xd2, 0x4c, 0x8d, 0x1d, 0, 0, 0, 0,
                                          0x4d, 0x01, 0xda, 0xff, 0x25, 0,    0, 0, 0};
    static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};
    memcpy(page + XRAY_ENTER, enter, sizeof enter);
    put_displacement(page + XRAY_ENTER + 6, page);
    put_displacement(page + XRAY_ENTER + 15, page);
    memcpy(page + XRAY_EXIT, jump, sizeof jump);
    put_displacement(page + XRAY_EXIT + 2, page + 8);
    memcpy(page + XRAY_TAIL, jump, sizeof jump);
    put_displacement(page + XRAY_TAIL + 2, page + 16);
}

static void *map_at(uintptr_t at)
{
    void *p = mmap((void *)at, PAGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (p != MAP_FAILED && p != (void *)at) { /* a kernel that doesn't know the flag */
        munmap(p, PAGE);
        p = MAP_FAILED;
    }
    return p;
}

uintptr_t xray_page(uintptr_t low, uintptr_t high, bool make)
{
    for (unsigned i = 0; i < n_pages; i++)
        if (reaches(pages[i], low, high))
            return pages[i];
    if (!make || n_pages == PAGES_MAX)
        return 0;
    const uintptr_t below = low & ~(uintptr_t)(STEP - 1), above = (high + STEP - 1) & ~(uintptr_t)(STEP - 1);
    void *p = MAP_FAILED;
    for (uintptr_t i = 1; p == MAP_FAILED && i < TRIES; i++) {
        if (below > i * STEP && reaches(below - i * STEP, low, high))
            p = map_at(below - i * STEP);
        if (p == MAP_FAILED && reaches(above + i * STEP, low, high))
            p = map_at(above + i * STEP);
    }
    if (p == MAP_FAILED)
        return 0;
    write_code(p);
    if (mprotect(p, PAGE, PROT_READ | PROT_EXEC) != 0) {
        munmap(p, PAGE);
        return 0;
    }
    return pages[n_pages++] = (uintptr_t)p;
}
