/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What arch.h promises and architectures have alike whose clock and counters are registers, each with a name of its
 * own. Only their arch_NAME.h includes this file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t cs_clock_ordered(void);

/* The clock is one instruction that leaves its value in one register: what follows is the load. */
static inline uint64_t cs_clock_then_load(const volatile uint64_t *from, uint64_t *value)
{
    uint64_t count = cs_clock_ordered();
    *value = *from;
    return count;
}

/* A counter's number is part of the instruction: one case each. */
// clang-format off
#define CS_COUNTERS_TO_30(CASE)                                                                              \
    CASE(0) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11)        \
    CASE(12) CASE(13) CASE(14) CASE(15) CASE(16) CASE(17) CASE(18) CASE(19) CASE(20) CASE(21) CASE(22)       \
    CASE(23) CASE(24) CASE(25) CASE(26) CASE(27) CASE(28) CASE(29) CASE(30)
// clang-format on

#define CS_PMC_ANY_THREAD 0u
static inline bool cs_pmc_any_thread(const char **why)
{
    *why = "events of both hardware threads (AnyThread) exist on Intel processors only";
    return false;
}
