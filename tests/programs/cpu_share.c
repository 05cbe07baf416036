/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spins for argv[1] seconds; prints the share of them that it had a CPU. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1, begin = now(CLOCK_MONOTONIC), gone;
    volatile unsigned long sum = 0;
    do {
        for (unsigned i = 0; i < 100000; i++)
            sum += i;
        gone = now(CLOCK_MONOTONIC) - begin;
    } while (gone < seconds);
    printf("%.4f\n", now(CLOCK_PROCESS_CPUTIME_ID) / gone);
    return 0;
}
