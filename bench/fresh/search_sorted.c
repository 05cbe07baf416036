/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Binary search of random keys in 4 KB. Variant: four keys in turn. */
#include "../kernels/kernel.h"

enum { LENGTH = 1023, KEYS = 1 << 14 };

struct sorted {
    uint32_t values[LENGTH + 1], keys[KEYS];
    uint64_t found, between;
};

static HOT uint64_t search(void *argument)
{
    struct sorted *s = argument;
    uint64_t found = 0, between = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        uint32_t key = s->keys[i];
        int low = 0, high = LENGTH - 1;
        while (low <= high) {
            int middle = (low + high) / 2;
            uint32_t v = s->values[middle];
            if (v == key) {
                found++;
                break;
            }
            if (v < key) {
                low = middle + 1;
            } else {
                high = middle - 1;
                __asm__ volatile("" : "+r"(high));
            }
        }
        between += (unsigned)low;
    }
    s->found += found, s->between += between;
    return KEYS;
}

int main(int argc, char **argv)
{
    static struct sorted s;
    uint64_t seed = 88172645463325252;
    for (unsigned i = 0; i < LENGTH; i++)
        s.values[i] = 2 * i;
    for (unsigned i = 0; i < KEYS; i++)
        s.keys[i] =
            variant(argc, argv) && i >= 4 ? s.keys[i & 3] : (uint32_t)(next_random(&seed) % LENGTH * 2 + 1);
    return run_kernel("search_sorted", argc, argv, search, &s);
}
