/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checksums of four blocks at once, as a storage server takes them: four independent streams hide the latency of
 * the crc32 instruction, of which the CPU can begin one a cycle. Variant 1: the same with additions. */
#include "../kernels/kernel.h"

enum { WORDS = 512 };

struct blocks {
    uint64_t *words, sum;
    int add;
};

#define LOOP(NAME, STEP)                                                                                     \
    HOT static uint64_t NAME(const uint64_t *w)                                                              \
    {                                                                                                        \
        uint64_t a = 0, b = 0, c = 0, d = 0;                                                                 \
        for (size_t i = 0; i < WORDS; i++) {                                                                 \
            __asm__(STEP " %1, %0" : "+r"(a) : "m"(w[i]));                                                   \
            __asm__(STEP " %1, %0" : "+r"(b) : "m"(w[i + WORDS]));                                           \
            __asm__(STEP " %1, %0" : "+r"(c) : "m"(w[i + 2 * WORDS]));                                       \
            __asm__(STEP " %1, %0" : "+r"(d) : "m"(w[i + 3 * WORDS]));                                       \
        }                                                                                                    \
        return a ^ b ^ c ^ d;                                                                                \
    }

LOOP(check_blocks, "crc32q")
LOOP(add_blocks, "addq")

static uint64_t turn(void *argument)
{
    struct blocks *b = argument;
    for (int i = 0; i < 128; i++)
        b->sum += (b->add ? add_blocks : check_blocks)(b->words);
    return WORDS * 128;
}

int main(int argc, char **argv)
{
    uint64_t seed = 0xABCDEF0123456789u;
    struct blocks b = {memory(WORDS * 4 * 8, 0), 0, variant(argc, argv)};
    for (size_t i = 0; i < WORDS * 4; i++)
        b.words[i] = next_random(&seed);
    return run_kernel("crc_lanes", argc, argv, turn, &b);
}
