/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes of folders within folders, 20 deep, by recursion with two call sites. Folders are kept or left out by a
 * flag of each, which is random. Variant 1: all are kept. */
#include "../kernels/kernel.h"

enum { DEPTH = 20, TREES = 2048 };

struct folder {
    struct folder *inside;
    uint32_t size;
    int linked, kept;
};

struct disk {
    struct folder folder[TREES][DEPTH];
    volatile uint64_t total;
};

HOT static uint64_t size_of(const struct folder *f)
{
    uint64_t sum = 0;
    if (f->inside)
        sum = f->linked ? size_of(f->inside) : size_of(f->inside) * 2;
    if (f->kept) {
        sum ^= f->size;
        sum += sum >> 3;
        __asm__ volatile("" : "+r"(sum));
    }
    return sum;
}

static uint64_t turn(void *argument)
{
    struct disk *d = argument;
    for (int t = 0; t < TREES; t++)
        d->total += size_of(&d->folder[t][0]);
    return TREES * DEPTH;
}

int main(int argc, char **argv)
{
    static struct disk d;
    uint64_t seed = 88172645463325252U;
    int all = variant(argc, argv);
    for (int t = 0; t < TREES; t++)
        for (int i = 0; i < DEPTH; i++)
            d.folder[t][i] = (struct folder){i + 1 < DEPTH ? &d.folder[t][i + 1] : NULL, (uint32_t)i + 3,
                                             i % 3 == 0, all || next_random(&seed) >> 20 & 1};
    return run_kernel("folder_sizes", argc, argv, turn, &d);
}
