/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work of known shape for edges, cfg and accuracy: a switch through a jump table, a loop nest, calls that
 * never return. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static __attribute__((noinline)) void give_up(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static __attribute__((noinline)) uint64_t step(uint64_t x, unsigned kind)
{
    switch (kind) {
    case 0:
        return x * 3 + 1;
    case 1:
        return x ^ (x >> 7);
    case 2:
        return x + (x << 3);
    case 3:
        return x / 3;
    case 4:
        return x - 17;
    case 5:
        return ~x;
    default:
        give_up("no such kind");
        return 0;
    }
}

static __attribute__((noinline)) uint64_t work(uint64_t turns)
{
    uint64_t x = 88172645463325252, sum = 0;
    for (uint64_t i = 0; i < turns; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        for (unsigned k = 0; k < (x & 7); k++)
            sum += step(x + k, (unsigned)((x >> 8) + k) % 6);
        if (sum % 5 == 0)
            sum += 3;
    }
    return sum;
}

int main(int argc, char **argv)
{
    printf("%llu\n", (unsigned long long)work(argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000));
    return 0;
}
