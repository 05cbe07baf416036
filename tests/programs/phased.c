/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes between two kinds of work: phased SECONDS_A SECONDS_B TIMES, in seconds of CPU time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) uint64_t press_grapes(uint64_t x);
__attribute__((noinline)) uint64_t press_grapes(uint64_t x)
{
    for (unsigned i = 0; i < 200000; i++)
        x = x * 6364136223846793005ull + 1442695040888963407ull;
    return x;
}

__attribute__((noinline)) uint64_t taste_wine(uint64_t x);
__attribute__((noinline)) uint64_t taste_wine(uint64_t x)
{
    for (unsigned i = 1; i < 60000; i++)
        x = (x ^ i) / (i | 1) + x;
    return x;
}

int main(int argc, char **argv)
{
    uint64_t x = 1;
    if (argc != 4)
        return 2;
    for (int i = 0; i < atoi(argv[3]); i++) {
        double start = now();
        while (now() < start + atof(argv[1]))
            x = press_grapes(x);
        start = now();
        while (now() < start + atof(argv[2]))
            x = taste_wine(x);
    }
    printf("%llu\n", (unsigned long long)x);
    return 0;
}
