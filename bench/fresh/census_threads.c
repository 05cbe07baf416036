/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads of a census count their households by size, each in a table of its own, atomically, as the library does it for
 * everybody. Tables don't share lines. Variant 1: each counts by a load and a store. */
#define DEFAULT_SECONDS 6
#include "pair.h"

enum { HOUSEHOLDS = 8192, SIZES = 16 };

struct census {
    _Alignas(128) uint64_t counts[SIZES];
    _Alignas(128) uint8_t sizes[HOUSEHOLDS];
    int plain;
};

HOT static void count(uint64_t *counts, const uint8_t *sizes)
{
    for (int i = 0; i < HOUSEHOLDS; i++)
        __atomic_fetch_add(&counts[sizes[i]], 1, __ATOMIC_RELAXED);
}

HOT static void count_plain(uint64_t *counts, const uint8_t *sizes)
{
    for (int i = 0; i < HOUSEHOLDS; i++) {
        uint64_t n = __atomic_load_n(&counts[sizes[i]], __ATOMIC_RELAXED);
        __atomic_store_n(&counts[sizes[i]], n + 1, __ATOMIC_RELAXED);
    }
}

static uint64_t turn(void *argument)
{
    struct census *c = argument;
    for (int i = 0; i < 10; i++)
        if (c->plain)
            count_plain(c->counts, c->sizes);
        else
            count(c->counts, c->sizes);
    return 10 * HOUSEHOLDS;
}

int main(int argc, char **argv)
{
    static struct census halves[2];
    uint64_t seed = 1099511628211u;
    for (int h = 0; h < 2; h++) {
        halves[h].plain = variant(argc, argv);
        for (int i = 0; i < HOUSEHOLDS; i++)
            halves[h].sizes[i] = (uint8_t)((next_random(&seed) >> 40) % SIZES);
    }
    return run_pair("census_threads", argc, argv, turn, &halves[0], &halves[1]);
}
