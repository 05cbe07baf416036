/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clocks as one number. Any thread; nothing fails. */
#pragma once

#include <stdint.h>
#include <time.h>

/* 0: there is no such clock (of a process that is gone). */
static inline uint64_t cs_clock_ns(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) < 0 ? 0 : (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static inline uint64_t cs_monotonic_ns(void)
{
    return cs_clock_ns(CLOCK_MONOTONIC);
}

/* Two readings are that far apart. */
static inline double cs_monotonic_seconds(void)
{
    return (double)cs_monotonic_ns() * 1e-9;
}

/* User and system time of the calling thread. */
static inline double cs_thread_cpu_seconds(void)
{
    return (double)cs_clock_ns(CLOCK_THREAD_CPUTIME_ID) * 1e-9;
}
