/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts keys in a table of a prime number of slots that is known at run time only: a division a key. The
 * table is 8 KB. Variant: a power of two and a mask. */
#include "kernel.h"

struct counts {
    uint64_t prime, mask;
    uint64_t keys[512];
    uint32_t slots[2048];
};

static HOT uint64_t count_keys(void *argument)
{
    struct counts *c = argument;
    uint64_t prime = c->prime;
    for (unsigned turn = 0; turn < 64; turn++)
        for (unsigned i = 0; i < 512; i++)
            c->slots[(c->keys[i] + turn) % prime]++;
    return 64 * 512;
}

static HOT uint64_t count_masked(void *argument)
{
    struct counts *c = argument;
    uint64_t mask = c->mask;
    for (unsigned turn = 0; turn < 64; turn++)
        for (unsigned i = 0; i < 512; i++)
            c->slots[(c->keys[i] + turn) & mask]++;
    return 64 * 512;
}

int main(int argc, char **argv)
{
    static struct counts c = {.prime = 2039, .mask = 2047};
    uint64_t seed = 88172645463325252;
    for (unsigned i = 0; i < 512; i++)
        c.keys[i] = next_random(&seed);
    return run_kernel("modulo_hash", argc, argv, variant(argc, argv) ? count_masked : count_keys, &c);
}
