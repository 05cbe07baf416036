/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AArch64: the virtual counter, the PMU's counters by mrs, yield. Included by arch.h alone.
 *
 * cntvct_el0 is the only clock that user space may always read; it ticks at cntfrq_el0 (tens of MHz to 1
 * GHz), so an interval is known to that resolution only. The counters that a task-bound event with config1
 * bit 1 exposes are read without a trap (kernel: Documentation/arch/arm64/perf.rst, "Perf Userspace PMU
 * Hardware Counter Access"). */
#ifndef CS_OBSERVER_SOURCE_ARCH_AARCH64_H
#define CS_OBSERVER_SOURCE_ARCH_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t cs_clock_ordered(void)
{
    uint64_t count;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(count) : : "memory");
    return count;
}

/* The same, and then at once a load. */
static inline uint64_t cs_clock_then_load(const volatile uint64_t *from, uint64_t *value)
{
    uint64_t count = cs_clock_ordered();
    *value = *from;
    return count;
}

static inline uint64_t cs_clock(void)
{
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count) : : "memory");
    return count;
}

// clang-format off
/* A counter's number is part of the instruction: one case each. 31 is the cycle counter. */
static inline uint64_t cs_rdpmc(uint32_t counter)
{
    uint64_t value = 0;
    __asm__ volatile("isb" : : : "memory");
#define CASE(n)                                                                                              \
    case n:                                                                                                  \
        __asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(value) : : "memory");                           \
        break;
    switch (counter) {
        CASE(0) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10)
        CASE(11) CASE(12) CASE(13) CASE(14) CASE(15) CASE(16) CASE(17) CASE(18) CASE(19) CASE(20)
        CASE(21) CASE(22) CASE(23) CASE(24) CASE(25) CASE(26) CASE(27) CASE(28) CASE(29) CASE(30)
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
#define CS_PMC_ANY_THREAD 0u
static inline bool cs_pmc_any_thread(const char **why)
{
    *why = "events of both hardware threads (AnyThread) exist on Intel processors only";
    return false;
}

static inline void cs_pause(void)
{
    __asm__ volatile("yield");
}

#endif
