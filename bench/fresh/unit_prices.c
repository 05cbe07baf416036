/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts amounts into four units at once, by the upper half of a product of 128 bits each. The factors are powers of two, which
 * this loop doesn't know. Variant 1: by shifts. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

enum { AMOUNTS = 1024 };

struct shop {
    uint64_t amounts[AMOUNTS], factors[4];
    uint8_t shifts[4];
    int shift;
    uint64_t sum;
};

static uint64_t upper(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

HOT static uint64_t convert(const struct shop *s)
{
    uint64_t a = 0, b = 0, f0 = s->factors[0], f1 = s->factors[1], f2 = s->factors[2], f3 = s->factors[3];
    for (int i = 0; i < AMOUNTS; i++) {
        uint64_t amount = s->amounts[i];
        a += upper(amount, f0) ^ upper(amount, f1);
        b += upper(amount, f2) ^ upper(amount, f3);
    }
    return a + b;
}

HOT static uint64_t convert_by_shifts(const struct shop *s)
{
    uint64_t a = 0, b = 0;
    int s0 = s->shifts[0], s1 = s->shifts[1], s2 = s->shifts[2], s3 = s->shifts[3];
    for (int i = 0; i < AMOUNTS; i++) {
        uint64_t amount = s->amounts[i];
        a += amount >> s0 ^ amount >> s1;
        b += amount >> s2 ^ amount >> s3;
    }
    return a + b;
}

static uint64_t turn(void *argument)
{
    struct shop *s = argument;
    for (int i = 0; i < 40; i++)
        s->sum += s->shift ? convert_by_shifts(s) : convert(s);
    return 40 * AMOUNTS;
}

int main(int argc, char **argv)
{
    static struct shop s;
    uint64_t seed = 3037000493037000493u;
    s.shift = variant(argc, argv);
    for (int i = 0; i < AMOUNTS; i++)
        s.amounts[i] = next_random(&seed);
    for (int i = 0; i < 4; i++) {
        s.shifts[i] = (uint8_t)(3 + 5 * i);
        s.factors[i] = 1ull << (64 - s.shifts[i]);
    }
    int status = run_kernel("unit_prices", argc, argv, turn, &s);
    printf("result=%llu\n", (unsigned long long)s.sum);
    return status;
}
