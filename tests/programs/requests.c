/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers requests one after the other and logs by its own clock how long each took: 5 µs and more, few of them very long.
 *
 *     requests NUMBER FILE     a signal "request" holds the number of the request under way, 0 between two;
 *                              FILE gets the lengths, a line each, in ns */
#include "signals/cyclescope.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double random_share(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 40) + 1) / (double)(1 << 24);
}

static uint64_t spin_until(uint64_t end)
{
    uint64_t t;
    while ((t = now()) < end)
        ;
    return t;
}

int main(int argc, char **argv)
{
    uint64_t seed = 42, n = argc > 1 ? strtoull(argv[1], NULL, 10) : 0,
             *lengths = calloc(n + 1, sizeof *lengths);
    if (argc != 3 || !lengths)
        return 2;
    const cs_signal request = cs_define(CS_ANY_WORD, "request", CS_TAG);
    for (uint64_t i = 1; i <= n; i++) {
        const double length = fmin(5000 * pow(random_share(&seed), -0.7), 5e6),
                     pause = 2000 + 6000 * random_share(&seed);
        const uint64_t begin = now();
        cs_set(request, i);
        const uint64_t end = spin_until(begin + (uint64_t)length);
        cs_set(request, 0);
        lengths[i] = end - begin;
        spin_until(end + (uint64_t)pause);
    }
    FILE *f = fopen(argv[2], "w");
    for (uint64_t i = 1; f && i <= n; i++)
        fprintf(f, "%llu\n", (unsigned long long)lengths[i]);
    return f && fclose(f) == 0 ? 0 : 1;
}
