/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock: the TSC on x86-64, CNTVCT on AArch64. One tick is one "cycle" in all of observer/, called a TSC
 * cycle there. It has a constant rate, which isn't the core's (CNTVCT: tens of MHz to 1 GHz). Cost on recent
 * x86: rdtsc 20 to 40 cycles, rdtscp 30 to 50. */
#pragma once

#include "observer/source/arch.h" /* cs_clock, cs_clock_ordered */

#include <stdint.h>

/* Ticks a second, measured once against CLOCK_MONOTONIC_RAW (5 ms on the first call). */
double cs_clock_hz(void);
