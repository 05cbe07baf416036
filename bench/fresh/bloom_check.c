/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store asks a Bloom filter of 4 MB whether it may hold a key: four bits, none of which waits for another.
 * Variant 1: a filter of 16 KB. */
#include "../kernels/kernel.h"

enum { KEYS = 1 << 14 };

struct filter {
    const uint64_t *bits;
    uint64_t mask, key;
    volatile uint64_t found;
};

HOT static uint64_t count_present(const struct filter *f, uint64_t key)
{
    uint64_t found = 0;
    for (int i = 0; i < KEYS; i++) {
        uint64_t hash = (key + (uint64_t)i) * 0x9E3779B97F4A7C15u, all = 1;
        hash ^= hash >> 29;
        uint64_t step = hash * 0xBF58476D1CE4E5B9u >> 3;
        for (int k = 0; k < 4; k++) {
            all &= f->bits[(hash >> 6) & f->mask] >> (hash & 63);
            hash += step;
        }
        found += all;
    }
    return found;
}

static uint64_t turn(void *argument)
{
    struct filter *f = argument;
    f->found += count_present(f, f->key);
    f->key += KEYS;
    return KEYS;
}

int main(int argc, char **argv)
{
    uint64_t bytes = variant(argc, argv) ? 16 << 10 : 4 << 20;
    uint64_t *bits = memory(bytes, 1);
    for (uint64_t i = 0; i < bytes / 8; i++)
        bits[i] = i * 0x94D049BB133111EBu;
    struct filter f = {bits, bytes / 8 - 1, 1, 0};
    return run_kernel("bloom_check", argc, argv, turn, &f);
}
