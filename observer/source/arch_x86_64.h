/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64: the time-stamp counter, rdpmc, pause. Only arch.h includes this file. */
#pragma once

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

/* Waits for all earlier loads; later ones may start before it (shim-2015 figure 2 builds on the former). */
static inline uint64_t cs_clock_ordered(void)
{
    uint64_t low, high; /* the upper halves are cleared */
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high) : : "rcx", "memory");
    return high << 32 | low;
}

/* The same, and then at once a load: no other instruction comes between (loop/body.h says why). */
static inline uint64_t cs_clock_then_load(const volatile uint64_t *from, uint64_t *value)
{
    uint64_t low, high;
    __asm__ volatile("rdtscp\n\tmov (%3), %2"
                     : "=&a"(low), "=&d"(high), "=&r"(*value)
                     : "r"(from)
                     : "rcx", "memory");
    return high << 32 | low;
}

/* Where order doesn't matter: cheaper, and overlaps with what surrounds it. */
static inline uint64_t cs_clock(void)
{
    uint64_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return high << 32 | low;
}

/* The counter that a perf page calls index - 1. Raises #GP where user space may not read it. */
static inline uint64_t cs_rdpmc(uint32_t counter)
{
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter) : "memory");
    return (uint64_t)high << 32 | low;
}

/* attr.config1 that user-space reading needs. */
#define CS_PMC_USER_ACCESS 0u
/* attr.config of an event that counts both hardware threads of a core: Intel, architectural performance
 * monitoring version 3 and 4, and not where CPUID 0AH EDX[15] says that it is gone (Ice Lake on). */
#define CS_PMC_ANY_THREAD ((uint64_t)1 << 21)
static inline bool cs_pmc_any_thread(const char **why)
{
    unsigned a, b, c, d;
    *why = "events of both hardware threads (AnyThread) exist on Intel processors only";
    if (!__get_cpuid(0, &a, &b, &c, &d) || b != signature_INTEL_ebx)
        return false;
    *why = "this machine shows no performance counters that could count both hardware threads (AnyThread)";
    if (!__get_cpuid_count(10, 0, &a, &b, &c, &d) || (a & 0xff) < 3)
        return false;
    *why =
        "this processor can't count for both hardware threads any more (AnyThread was removed in Ice Lake)";
    return !(d >> 15 & 1);
}

static inline void cs_pause(void)
{
    __builtin_ia32_pause();
}
