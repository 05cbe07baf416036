/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fixed work in eight functions of known shares (40, 20, 12, 10, 8, 5, 3, 2 %); the sixth, five_percent, does `per_mille` thousandths
 * of its work. Usage: _planted SECONDS PER_MILLE */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t mix(uint64_t x, uint64_t turns)
{
    for (uint64_t i = 0; i < turns; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

#define WORK(name)                                                                                           \
    __attribute__((noinline, noipa)) static uint64_t name(uint64_t x, uint64_t turns)                        \
    {                                                                                                        \
        return mix(x, turns);                                                                                \
    }
WORK(forty_percent)
WORK(twenty_percent)
WORK(twelve_percent)
WORK(ten_percent)
WORK(eight_percent)
WORK(five_percent)
WORK(three_percent)
WORK(two_percent)

#define TURNS_A_ROUND 1000000

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const double per_mille = atof(argv[2]);
    const uint64_t rounds = (uint64_t)(atof(argv[1]) * 600);
    uint64_t x = 88172645463325252ULL;
    for (uint64_t r = 0; r < rounds; r++) {
        const uint64_t one = TURNS_A_ROUND / 100;
        x = forty_percent(x, 40 * one);
        x = twenty_percent(x, 20 * one);
        x = twelve_percent(x, 12 * one);
        x = ten_percent(x, 10 * one);
        x = eight_percent(x, 8 * one);
        x = five_percent(x, (uint64_t)(5.0 * (double)one * per_mille / 1000));
        x = three_percent(x, 3 * one);
        x = two_percent(x, 2 * one);
    }
    printf("%llu\n", (unsigned long long)x);
    return 0;
}
