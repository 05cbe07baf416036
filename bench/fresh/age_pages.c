/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cache of pages ages each of its 12,000 pages by a counter in the page's header. The counters fit into the second
 * cache, but share 64 of its sets. Variant: the pages are within huge pages. */
#include "../kernels/kernel.h"

#define PAGES 12000u

struct header {
    uint32_t age, used;
};

struct pool {
    char *pages;
    uint64_t old;
};

static HOT uint64_t age_pages(void *argument)
{
    struct pool *p = argument;
    uint64_t old = 0;
    for (unsigned turn = 0; turn < 16; turn++)
        for (unsigned i = 0; i < PAGES; i++) {
            struct header *h = (struct header *)(p->pages + (size_t)i * 4096 + i % 64 * 64);
            h->age = h->used ? 0 : h->age + 1;
            old += h->age > 100;
        }
    p->old += old;
    return 16 * PAGES;
}

int main(int argc, char **argv)
{
    struct pool p = {memory((size_t)PAGES * 4096, variant(argc, argv)), 0};
    for (unsigned i = 0; i < PAGES; i++)
        memset(p.pages + (size_t)i * 4096, 0, 4096);
    return run_kernel("age_pages", argc, argv, age_pages, &p);
}
