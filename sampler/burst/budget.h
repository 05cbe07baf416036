/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often triggers become bursts, so that bursts cost the target no more than their budget: fewer when
 * bursts turn out dearer than thought. Pure; by one thread. Costs in us, shares of the target's time.
 *
 * Where a budget was asked there is an account, too. Time of the target fills it, at the budget's share. Everything
 * that bursts cost empties it: stops, CPU time of the runners, their starts, attempts without result. While it is in
 * debt there is no burst, and a runner is started when its start is saved up. So a debt is never more than an
 * attempt costs. */
#pragma once

#include <stdbool.h>

struct cs_burst_budget {
    double share;          /* of the target's time, at the start */
    double rate_hz;        /* bursts a second of a busy CPU; 0: by the budget */
    double period_s;       /* from one trigger to the next */
    double chance;         /* that a trigger becomes a burst */
    double cost_us;        /* what a burst costs lately */
    unsigned n;            /* bursts, up to CS_MODEL_COST_MEMORY */
    unsigned eager;        /* bursts that may yet cost CS_MODEL_EVIDENCE_BUDGET */
    double later_period_s; /* period_s when these are made */
    bool accounted;
    double left_us;  /* on the account; negative: a debt */
    double start_us; /* what the start of a runner costs lately */
};

/* `all`: all that runs is the target. */
void cs_burst_budget_begin(struct cs_burst_budget *budget, double share, double rate_hz, bool all);
/* The first `bursts` may cost CS_MODEL_EVIDENCE_BUDGET, and triggers come more often until they are made. Then period_s
 * is later_period_s. No rate was asked for. */
void cs_burst_budget_hurry(struct cs_burst_budget *budget, unsigned bursts);
/* A burst that cost so much; `share`: what is allowed now, `trigger_s`: what a trigger costs. */
void cs_burst_budget_learn(struct cs_burst_budget *budget, double cost_us, double share, double trigger_s);

/* The target ran for so many triggers' periods more; no more is saved than CS_MODEL_SAVED_S of its time bring. */
void cs_burst_budget_earn(struct cs_burst_budget *budget, double share, unsigned triggers);
void cs_burst_budget_spend(struct cs_burst_budget *budget, double us);
/* False: the account is in debt. */
bool cs_burst_budget_may(const struct cs_burst_budget *budget);
/* False: what the start of a runner costs is not saved up yet. */
bool cs_burst_budget_may_start(const struct cs_burst_budget *budget, double share);
/* One cost so much, which is spent by its own call. */
void cs_burst_budget_started(struct cs_burst_budget *budget, double us);
/* What an attempt cost. The runner's work displaces that of the target where the CPUs are busy, and a thread that
 * stands holds up all that waits for it, `busy_cpus` at most; both don't add up, as one's CPU is free while it
 * stands. */
double cs_burst_budget_cost(double stopped_us, double cpu_us, double busy_cpus);
