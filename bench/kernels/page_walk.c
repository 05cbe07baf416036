/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One word of each of 6,144 small pages in random order: the data, a line a page, is 384 KB, which most
 * second levels hold, the translations are more than a last TLB of 2,048 holds. Variant: the same number of
 * lines on huge pages. */
#include "kernel.h"

enum { PAGES = 6144 };

struct pages {
    char *base;
    uint32_t *order;
    uint64_t sum;
};

static HOT uint64_t visit_pages(void *argument)
{
    struct pages *p = argument;
    const char *base = p->base;
    uint64_t at = 0;
    for (unsigned i = 0; i < 4 * PAGES; i++)
        at = *(const uint64_t *)(base + at);
    p->sum += at;
    return 4 * PAGES;
}

int main(int argc, char **argv)
{
    size_t bytes = (size_t)PAGES * 4096;
    struct pages p = {memory(bytes, variant(argc, argv)), malloc(PAGES * sizeof(uint32_t)), 0};
    uint64_t seed = 88172645463325252;
    for (unsigned i = 0; i < PAGES; i++)
        p.order[i] = i;
    for (unsigned i = PAGES - 1; i > 0; i--) {
        unsigned j = (unsigned)(next_random(&seed) % i);
        uint32_t t = p.order[i];
        p.order[i] = p.order[j];
        p.order[j] = t;
    }
    /* The line of each page varies, else all would share a few sets. */
#define PLACE(k) ((uint64_t)(k)*4096 + (uint64_t)(k)*64 % 4096)
    for (unsigned i = 0; i < PAGES; i++)
        *(uint64_t *)(p.base + PLACE(i)) = PLACE(p.order[i]);
    return run_kernel("page_walk", argc, argv, visit_pages, &p) + (p.sum == 1);
}
