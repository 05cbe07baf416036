/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time base: how many core cycles pass in a nanosecond of cpu-clock time. A virtual machine states
 * neither its core's clock nor, sometimes, its TSC's truthfully, so both are measured:
 *
 *   TSC   against CLOCK_MONOTONIC_RAW, bracketed readings, the tightest brackets kept;
 *   core  by a chain of dependent register-to-register adds, one cycle each on every core met (adds of a
 *         constant are eliminated at rename on some). Steal, interrupts and a waking core only ever lengthen
 *         a chain, so the shortest of many short chains is right, and the difference of two lengths drops the
 *         reading's cost.
 *
 * Where the processor's cycle counter is permitted it is counted over busy intervals against the same ticks,
 * and its figure is taken. A chain is only as true as "one add a cycle" is. It is also only as fine as the
 * ticks (25 to 60 MHz on many AArch64 machines).
 *
 * Invariant: 0.2 GHz < core_hz < 10 GHz or the call fails. Cost: about 25 ms of one CPU. No state; any
 * thread; the figure is that of the CPU it ran on. */
#pragma once

#include "store/base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct cs_time_base {
    double core_hz; /* of the core when it is busy */
    double tsc_hz;  /* 0 where there is no time-stamp counter */
    double spread;  /* (median chain - shortest chain) / shortest: how disturbed the measurement was */
    unsigned n_chains;
    bool counted; /* core_hz is the cycle counter's (PMCCNTR_EL0 on AArch64), not the chains' */
};

int cs_time_base_measure(struct cs_time_base *out, struct cs_error *err);

/* The pure half. `shorter` and `longer` are n ticks each of chains of `adds_short` and `adds_long` adds.
 * Returns ticks of one add, or a negative value when the two are inconsistent. */
double cs_time_base_ticks_per_add(const double *shorter, const double *longer, size_t n, double adds_short,
                                  double adds_long);
