/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The size of an element's font in a page that is 320 elements deep: each asks its parent, its host
 * or its slot, from one of three places. Variant 1: pages 16 deep. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

enum { ELEMENTS = 320, SHALLOW = 16, SIZE = 1 << 16 };
enum link { PARENT, HOST, SLOT, LINKS };

struct element {
    const struct element *links[LINKS];
    uint32_t more;
};

struct page {
    struct element elements[ELEMENTS];
    int deep;
    uint64_t sum;
};

HOT static uint32_t font_size(const struct element *e)
{
    uint32_t size;
    if (e->links[PARENT]) {
        size = font_size(e->links[PARENT]);
        return size + e->more;
    }
    if (e->links[HOST]) {
        size = font_size(e->links[HOST]);
        return size + 2 * e->more;
    }
    if (e->links[SLOT]) {
        size = font_size(e->links[SLOT]);
        return size - e->more;
    }
    return SIZE;
}

static uint64_t turn(void *argument)
{
    struct page *p = argument;
    for (int repeat = 0; repeat < 64; repeat++)
        for (int i = 0; i < ELEMENTS; i += p->deep)
            p->sum += (uint64_t)((int64_t)font_size(p->elements + i) - SIZE);
    return 64 * ELEMENTS;
}

int main(int argc, char **argv)
{
    static struct page p;
    uint64_t seed = 5765205045205765205u;
    p.deep = variant(argc, argv) ? SHALLOW : ELEMENTS;
    for (int i = 0; i < ELEMENTS; i++) {
        enum link link = (enum link)((next_random(&seed) >> 40) % LINKS);
        p.elements[i].more = (i + 1) % SHALLOW ? (uint32_t)i % 5 : 0;
        if ((i + 1) % p.deep)
            p.elements[i].links[link] = p.elements + i + 1;
    }
    int status = run_kernel("css_inherit", argc, argv, turn, &p);
    printf("result=%llu\n", (unsigned long long)p.sum);
    return status;
}
