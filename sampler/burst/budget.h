/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often triggers become bursts, so that bursts cost the target no more than their budget: fewer when
 * bursts turn out dearer than thought. Pure; by one thread. Costs in us, shares of the target's time. */
#ifndef CS_SAMPLER_BURST_BUDGET_H
#define CS_SAMPLER_BURST_BUDGET_H

#include <stdbool.h>

struct cs_burst_budget {
    double share;    /* of the target's time, at the start */
    double rate_hz;  /* bursts a second of a busy CPU; 0: by the budget */
    double period_s; /* from one trigger to the next */
    double chance;   /* that a trigger becomes a burst */
    double cost_us;  /* what a burst costs lately */
    unsigned n;      /* bursts, up to CS_MODEL_COST_MEMORY */
    unsigned eager;  /* bursts that may yet cost CS_MODEL_EVIDENCE_BUDGET */
};

/* `all`: all that runs is the target. */
void cs_burst_budget_begin(struct cs_burst_budget *budget, double share, double rate_hz, bool all);
/* A burst that cost so much; `share`: what is allowed now, `trigger_s`: what a trigger costs. */
void cs_burst_budget_learn(struct cs_burst_budget *budget, double cost_us, double share, double trigger_s);

#endif
