/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CLOCK_MONOTONIC and CLOCK_THREAD_CPUTIME_ID. */
#include "sampler/perf/monotonic_clock.h"

#include <time.h>

uint64_t cs_monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

double cs_thread_cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
