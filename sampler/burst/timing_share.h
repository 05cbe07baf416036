/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of a process's bursts are timed: those cost several times as much as others, and tell of some
 * programs nothing more. Pure; by one thread. */
#pragma once

#include <stdbool.h>

struct cs_burst_timing_share { /* {0} before the first burst */
    double plain_us, timed_us; /* what a burst of either kind costs lately; 0: none yet */
    double told;               /* share of the last timed ones that have an interval */
    unsigned n_timed;
};

/* What share of the next bursts should be. */
double cs_burst_timing_share_next(const struct cs_burst_timing_share *timing);
/* A burst that was followed; `told`: it has an interval. */
void cs_burst_timing_share_learn(struct cs_burst_timing_share *timing, bool timed, bool told, double cost_us);
