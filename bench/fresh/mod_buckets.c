/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses the bucket of each key by the remainder of a number of buckets that the table's size decides.
 * Variant: a power of two and a mask. */
#include "../kernels/kernel.h"

enum { KEYS = 4096 };

struct table {
    uint64_t key[KEYS], buckets, mask;
    uint16_t used[1024];
};

static HOT uint64_t choose_buckets(void *argument)
{
    struct table *t = argument;
    uint64_t buckets = t->buckets;
    for (unsigned i = 0; i < KEYS; i++)
        t->used[t->key[i] % buckets]++;
    return KEYS;
}

static HOT uint64_t choose_masked(void *argument)
{
    struct table *t = argument;
    uint64_t mask = t->mask;
    for (unsigned i = 0; i < KEYS; i++)
        t->used[t->key[i] & mask]++;
    return KEYS;
}

int main(int argc, char **argv)
{
    static struct table t = {.buckets = 1021, .mask = 1023};
    uint64_t seed = 4107;
    for (unsigned i = 0; i < KEYS; i++)
        t.key[i] = next_random(&seed);
    return run_kernel("mod_buckets", argc, argv, variant(argc, argv) ? choose_masked : choose_buckets, &t);
}
