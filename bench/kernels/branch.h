/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts and sums by a condition on bytes of an array that fits the first level; the two sides differ enough
 * that no compiler makes them a conditional move. */
#include "kernel.h"

enum { BYTES = 16384 };

struct input {
    uint8_t bytes[BYTES];
    uint64_t odd[64], even[64], seed;
    int regular;
};

static HOT uint64_t sort_bytes(void *argument)
{
    struct input *in = argument;
    for (unsigned turn = 0; turn < 16; turn++) {
        uint64_t factor = in->regular ? 1 : next_random(&in->seed);
        for (unsigned i = 0; i < BYTES; i++) {
            if (in->bytes[i] * factor & 16)
                in->odd[i & 63] += i ^ turn;
            else
                in->even[i & 31]++;
        }
    }
    return 16 * BYTES;
}

#define BRANCH_KERNEL(NAME, RANDOM)                                                                          \
    int main(int argc, char **argv)                                                                          \
    {                                                                                                        \
        static struct input in;                                                                              \
        in.seed = 88172645463325252;                                                                         \
        in.regular = !(RANDOM) || variant(argc, argv);                                                       \
        for (unsigned i = 0; i < BYTES; i++)                                                                 \
            in.bytes[i] = in.regular ? i & 255 : next_random(&in.seed) >> 32 & 255;                          \
        return run_kernel(NAME, argc, argv, sort_bytes, &in) + (in.odd[3] == 1);                             \
    }
