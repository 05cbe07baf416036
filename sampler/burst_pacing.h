/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of a process's bursts are paced: those cost several times as much as others, and tell of some
 * programs nothing more. Pure; by one thread. */
#ifndef CS_SAMPLER_BURST_PACING_H
#define CS_SAMPLER_BURST_PACING_H

#include <stdbool.h>

struct cs_pacing {             /* {0} before the first burst */
    double plain_us, paced_us; /* what a burst of either kind costs lately; 0: none yet */
    double timed;              /* share of the last paced ones that have a stretch */
    unsigned n_paced;
};

/* What share of the next bursts should be. */
double cs_pacing_share(const struct cs_pacing *pacing);
/* A burst that was followed; `timed`: it has a stretch. */
void cs_pacing_learn(struct cs_pacing *pacing, bool paced, bool timed, double cost_us);

#endif
