/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RISC-V: the time CSR, the PMU's counters by their CSRs, pause. Included by arch.h alone.
 *
 * `time` is the only clock that user space may always read; it ticks at a few MHz to some tens, so an interval is known
 * to that resolution only. For fences a read of a CSR is a device's input ("i"; Unprivileged ISA, "CSR Access Ordering").
 * Counters are readable while a mapped event of this thread has them (kernel.perf_user_access, drivers/perf/riscv_pmu.c). */
#ifndef CS_OBSERVER_SOURCE_ARCH_RISCV64_H
#define CS_OBSERVER_SOURCE_ARCH_RISCV64_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t cs_clock_ordered(void)
{
    uint64_t count;
    __asm__ volatile("fence r, i\n\trdtime %0" : "=r"(count) : : "memory");
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
    __asm__ volatile("rdtime %0" : "=r"(count) : : "memory");
    return count;
}

// clang-format off
/* A counter's number is part of the instruction: one case each. 0 is the cycle counter, 2 that of instructions. */
static inline uint64_t cs_rdpmc(uint32_t counter)
{
    uint64_t value = 0;
#define CASE(n)                                                                                              \
    case n:                                                                                                  \
        __asm__ volatile("csrr %0, 0xc00 + " #n : "=r"(value) : : "memory");                                 \
        break;
    switch (counter) {
        CASE(0) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11)
        CASE(12) CASE(13) CASE(14) CASE(15) CASE(16) CASE(17) CASE(18) CASE(19) CASE(20) CASE(21)
        CASE(22) CASE(23) CASE(24) CASE(25) CASE(26) CASE(27) CASE(28) CASE(29) CASE(30) CASE(31)
    default:
        break;
    }
#undef CASE
    return value;
}
// clang-format on

#define CS_PMC_USER_ACCESS 0u
#define CS_PMC_ANY_THREAD 0u
static inline bool cs_pmc_any_thread(const char **why)
{
    *why = "events of both hardware threads (AnyThread) exist on Intel processors only";
    return false;
}

/* Zihintpause's `pause`, as a word: assemblers of the base set alone don't know the name; processors without it do nothing. */
static inline void cs_pause(void)
{
    __asm__ volatile(".4byte 0x0100000f");
}

#endif
