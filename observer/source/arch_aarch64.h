/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AArch64: the virtual counter, the PMU's counters by mrs, yield. Only arch.h includes this file.
 *
 * cntvct_el0 is the only clock that user space may always read. It ticks at cntfrq_el0 (tens of MHz to 1
 * GHz), so an interval is known to that resolution only. A task-bound event with config1 bit 1 exposes
 * counters that are read without a trap (kernel: Documentation/arch/arm64/perf.rst, "Perf Userspace PMU
 * Hardware Counter Access"). */
#pragma once

#include "observer/source/arch_registers.h"

#include <stdint.h>

static inline uint64_t cs_clock_ordered(void)
{
    uint64_t count;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(count) : : "memory");
    return count;
}

static inline uint64_t cs_clock(void)
{
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count) : : "memory");
    return count;
}

// clang-format off
/* 31 is the cycle counter, which has a name of its own. */
static inline uint64_t cs_rdpmc(uint32_t counter)
{
    uint64_t value = 0;
    __asm__ volatile("isb" : : : "memory");
#define CASE(n)                                                                                              \
    case n:                                                                                                  \
        __asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(value) : : "memory");                           \
        break;
    switch (counter) {
        CS_COUNTERS_TO_30(CASE)
    case 31:
        __asm__ volatile("mrs %0, pmccntr_el0" : "=r"(value) : : "memory");
        break;
    default:
        break;
    }
#undef CASE
    return value;
}
// clang-format on

/* config1: bit 1 asks for user-space access (bit 0 would ask for a 64-bit counter of two chained ones). */
#define CS_PMC_USER_ACCESS 2u

static inline void cs_pause(void)
{
    __asm__ volatile("yield");
}
