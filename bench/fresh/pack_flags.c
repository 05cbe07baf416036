/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes six fields out of the status words of a device; their bits lie scattered, so each is gathered by an instruction
 * of which a core starts one a cycle. Variant 1: the bits of a field lie together, a shift and a mask take them. */
#include "../kernels/kernel.h"

enum { WORDS = 1024 };

struct device {
    uint64_t words[WORDS];
    uint32_t loads[WORDS];
    int together;
};

#define BITS(K) (0x0041041041041041u << (K)) /* every sixth bit, ten of them */

__attribute__((target("bmi2"))) static uint64_t gather(uint64_t w, int k)
{
    return __builtin_ia32_pext_di(w, BITS(k));
}

__attribute__((target("bmi2"))) HOT static void read_fields(const uint64_t *words, uint32_t *loads)
{
    for (int i = 0; i < WORDS; i++) {
        uint64_t w = words[i];
        loads[i] = (uint32_t)(gather(w, 0) + gather(w, 1) + gather(w, 2) + gather(w, 3) + gather(w, 4) +
                              gather(w, 5));
    }
}

static uint64_t cut(uint64_t w, int k)
{
    return w >> 10 * k & 1023;
}

HOT static void cut_fields(const uint64_t *words, uint32_t *loads)
{
    for (int i = 0; i < WORDS; i++) {
        uint64_t w = words[i];
        loads[i] = (uint32_t)(cut(w, 0) + cut(w, 1) + cut(w, 2) + cut(w, 3) + cut(w, 4) + cut(w, 5));
    }
}

static uint64_t turn(void *argument)
{
    struct device *d = argument;
    for (int i = 0; i < 50; i++)
        if (d->together)
            cut_fields(d->words, d->loads);
        else
            read_fields(d->words, d->loads);
    return 50 * WORDS;
}

int main(int argc, char **argv)
{
    static struct device d;
    uint64_t seed = 5871781006564002453u, sum = 0;
    d.together = variant(argc, argv);
    for (int i = 0; i < WORDS; i++)
        for (int k = 0; k < 6; k++)
            for (uint64_t field = next_random(&seed) >> 54, bit = 0; bit < 10; bit++)
                d.words[i] |= (field >> bit & 1)
                              << (d.together ? 10 * (uint64_t)k + bit : 6 * bit + (uint64_t)k);
    int status = run_kernel("pack_flags", argc, argv, turn, &d);
    for (int i = 0; i < WORDS; i++)
        sum += d.loads[i] * (uint64_t)i;
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
