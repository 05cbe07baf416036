/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the runs of equal pixels of a scanned page, for a fax. Where a run ends can't be guessed. Variant: each run
 * has three pixels. */
#include "../kernels/kernel.h"

enum { PIXELS = 1 << 16 };

struct scan {
    uint8_t pixel[PIXELS + 1];
    uint16_t run[PIXELS];
};

static HOT uint64_t find_runs(void *argument)
{
    struct scan *s = argument;
    uint16_t *run = s->run, length = 0;
    for (unsigned i = 0; i < PIXELS; i++) {
        length++;
        if (s->pixel[i] != s->pixel[i + 1]) {
            *run++ = length;
            length = 0;
            __asm__ volatile("" ::: "memory");
        }
    }
    return PIXELS;
}

int main(int argc, char **argv)
{
    static struct scan s;
    uint64_t seed = 4123;
    for (unsigned i = 1; i < PIXELS; i++) {
        int ends = variant(argc, argv) ? i % 3 == 0 : next_random(&seed) >> 20 & 1;
        s.pixel[i] = ends ? !s.pixel[i - 1] : s.pixel[i - 1];
    }
    return run_kernel("run_lengths", argc, argv, find_runs, &s);
}
