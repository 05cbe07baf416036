/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time-stamp counter. One tick is one "cycle" in all of observer/: TSC cycles, which run at a constant
 * rate and not at the core's. Cost on recent x86: rdtsc 20 to 40 cycles, rdtscp 30 to 50. */
#ifndef CS_OBSERVER_CLOCK_H
#define CS_OBSERVER_CLOCK_H

#include <stdint.h>

/* Waits for all earlier loads; later ones may start before it (shim-2015 figure 2 builds on the former). */
static inline uint64_t cs_clock_ordered(void)
{
    uint32_t low, high, cpu;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(cpu) : : "memory");
    return (uint64_t)high << 32 | low;
}

/* Where order doesn't matter: cheaper, and overlaps with what surrounds it. */
static inline uint64_t cs_clock(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

/* TSC cycles a second, measured once against CLOCK_MONOTONIC_RAW (5 ms on the first call). */
double cs_clock_hz(void);

#endif
