/* SPDX-License-Identifier: MIT */
/* Profiles a part of itself: self_profile STORE [OPTIONS [SECONDS]]. Of what it does only `wanted` (two thirds) and `also_wanted` (one third)
 * are to be in the profile. Prints the share of `wanted` by its own clock. */
#include "signals/cyclescope_profile.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __clang__
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noipa)) /* keeps its name, too */
#endif

static volatile uint64_t sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#define WORK(name, factor)                                                                                   \
    ALONE static double name(int rounds)                                                                     \
    {                                                                                                        \
        double from = now();                                                                                 \
        for (uint64_t i = 0; i < (uint64_t)rounds * 1000; i++)                                               \
            sink = sink * (factor) + i;                                                                      \
        return now() - from;                                                                                 \
    }
WORK(not_wanted, 3)
WORK(wanted, 5)
WORK(also_wanted, 7)

int main(int argc, char **argv)
{
    double one = 0, other = 0, seconds = argc > 3 ? atof(argv[3]) : 1.5;
    if (argc < 2)
        return 2;
    not_wanted(200000);
    if (cs_profile_start(argv[1], argc > 2 ? argv[2] : NULL) < 0) {
        fprintf(stderr, "not profiled: %s\n", cs_profile_why());
        return 1;
    }
    while (one + other < seconds) {
        one += wanted(2000);
        other += also_wanted(1000);
    }
    cs_profile_stop();
    not_wanted(200000);
    printf("%.4f\n", one / (one + other));
    return 0;
}
