/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time-stamp counter. One tick is one "cycle" in all of observer/: TSC cycles, which run at a constant
 * rate and not at the core's. Cost on recent x86: rdtsc 20 to 40 cycles, rdtscp 30 to 50. */
#ifndef CS_OBSERVER_CLOCK_H
#define CS_OBSERVER_CLOCK_H

#include "observer/arch.h" /* cs_clock, cs_clock_ordered */

#include <stdint.h>

/* TSC cycles a second, measured once against CLOCK_MONOTONIC_RAW (5 ms on the first call). */
double cs_clock_hz(void);

#endif
