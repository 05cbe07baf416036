/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What hostile programs share: a clock, work that gets sampled, and the last word. Each program attacks its profiler,
 * checks that nothing was done to itself, and says "unharmed" as its last line. */
#ifndef CS_TESTS_HOSTILE_H
#define CS_TESTS_HOSTILE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Runs in user mode for so long; what it computes is the same each time. */
static inline uint64_t burn(double seconds)
{
    volatile uint64_t x = 88172645463325252ULL;
    for (double until = seconds_now() + seconds; seconds_now() < until;)
        for (int i = 0; i < 20000; i++)
            x = x ^ (x << 13), x = x ^ (x >> 7), x = x ^ (x << 17);
    return x;
}

static inline double argument_seconds(int argc, char **argv, int at, double otherwise)
{
    return argc > at ? strtod(argv[at], NULL) : otherwise;
}

_Noreturn static inline void harmed(const char *what)
{
    printf("harmed: %s: %s\n", what, strerror(errno));
    exit(1);
}

static inline int unharmed(void)
{
    puts("unharmed");
    return 0;
}

#endif
