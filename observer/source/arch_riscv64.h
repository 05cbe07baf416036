/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RISC-V: the time CSR, the PMU's counters by their CSRs, pause. Only arch.h includes this file.
 *
 * `time` is the only clock that user space may always read. It ticks at a few MHz to some tens, so an interval is known
 * to that resolution only. For fences a read of a CSR is a device's input ("i"; Unprivileged ISA, "CSR Access
 * Ordering"). Counters are readable while a mapped event of this thread has them (kernel.perf_user_access,
 * drivers/perf/riscv_pmu.c). */
#pragma once

#include "observer/source/arch_registers.h"

#include <stdint.h>

static inline uint64_t cs_clock_ordered(void)
{
    uint64_t count;
    __asm__ volatile("fence r, i\n\trdtime %0" : "=r"(count) : : "memory");
    return count;
}

static inline uint64_t cs_clock(void)
{
    uint64_t count;
    __asm__ volatile("rdtime %0" : "=r"(count) : : "memory");
    return count;
}

// clang-format off
/* 0 is the cycle counter, 1 the clock, 2 the counter of instructions. */
static inline uint64_t cs_rdpmc(uint32_t counter)
{
    uint64_t value = 0;
#define CASE(n)                                                                                              \
    case n:                                                                                                  \
        __asm__ volatile("csrr %0, 0xc00 + " #n : "=r"(value) : : "memory");                                 \
        break;
    switch (counter) {
        CS_COUNTERS_TO_30(CASE) CASE(31)
    default:
        break;
    }
#undef CASE
    return value;
}
// clang-format on

#define CS_PMC_USER_ACCESS 0u

/* Zihintpause's `pause`, as a word: assemblers of the base set alone don't know the name; processors without it do nothing. */
static inline void cs_pause(void)
{
    __asm__ volatile(".4byte 0x0100000f");
}
