/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cache with 6,144 entries of 64 bytes looks for the ones to evict, from the least recently used: 384 KB, in the
 * order of use. Variant 1: 256 entries, 24 times. */
#include "../kernels/kernel.h"

enum { ENTRIES = 6144, FEW = 256 };

struct entry {
    struct entry *newer;
    uint64_t age;
    uint8_t key[48];
};

struct cache {
    struct entry *oldest;
    volatile uint64_t age;
};

HOT static uint64_t total_age(const struct entry *e)
{
    uint64_t age = 0;
    for (int i = 0; i < ENTRIES; i++) {
        age += e->age;
        e = e->newer;
    }
    return age;
}

static uint64_t turn(void *argument)
{
    struct cache *c = argument;
    c->age += total_age(c->oldest);
    __asm__ volatile("" ::: "memory");
    return ENTRIES;
}

int main(int argc, char **argv)
{
    static uint32_t order[ENTRIES];
    uint64_t seed = 2463534242u;
    uint32_t entries = variant(argc, argv) ? FEW : ENTRIES;
    struct entry *e = memory(ENTRIES * sizeof(struct entry), 1);
    for (uint32_t i = 0; i < entries; i++)
        order[i] = i;
    for (uint32_t i = entries - 1; i > 0; i--) {
        uint32_t k = (uint32_t)(next_random(&seed) >> 20) % (i + 1), other = order[k];
        order[k] = order[i], order[i] = other;
    }
    for (uint32_t i = 0; i < entries; i++)
        e[order[i]] = (struct entry){.newer = &e[order[(i + 1) % entries]], .age = i};
    static struct cache c;
    c.oldest = e;
    return run_kernel("lru_walk", argc, argv, turn, &c);
}
