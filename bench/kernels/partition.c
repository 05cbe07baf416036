/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first pass of a radix sort: records go to one of 2,048 places that advance through 256 MB, each store
 * to another line. Keys are read in order. Variant: places within 16 KB. */
#include "kernel.h"

enum { PLACES = 2048, KEYS = 1 << 15 };

struct partition {
    char *base;
    uint64_t room; /* bytes of a place */
    uint32_t keys[KEYS], at[PLACES];
};

static HOT uint64_t scatter_keys(void *argument)
{
    struct partition *p = argument;
    uint64_t room = p->room, mask = room - 1;
    for (unsigned turn = 0; turn < 8; turn++)
        for (unsigned i = 0; i < KEYS; i++) {
            uint32_t place = p->keys[i] >> 16 & (PLACES - 1);
            uint32_t at = p->at[place];
            *(uint32_t *)(p->base + place * room + (at & mask)) = p->keys[i];
            p->at[place] = at + 68;
        }
    return 8 * KEYS;
}

int main(int argc, char **argv)
{
    static struct partition p;
    uint64_t seed = 88172645463325252;
    p.room = variant(argc, argv) ? 8 : 128 << 10;
    p.base = memory((size_t)PLACES * (128 << 10) + 4096, 1);
    for (unsigned i = 0; i < KEYS; i++)
        p.keys[i] = (uint32_t)next_random(&seed);
    for (unsigned i = 0; i < PLACES; i++)
        p.at[i] = 0;
    return run_kernel("partition", argc, argv, scatter_keys, &p);
}
