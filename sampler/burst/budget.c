/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Triggers come at a fixed period; which of them become bursts is drawn with a chance that follows the cost. */
#include "sampler/burst/budget.h"
#include "sampler/burst/burst_model.h"

#include <assert.h>

void cs_burst_budget_begin(struct cs_burst_budget *budget, double share, double rate_hz, bool all)
{
    assert(share > 0 || rate_hz > 0);
    double first_us = all ? CS_MODEL_FIRST_COST_ALL_US : CS_MODEL_FIRST_COST_US;
    *budget = (struct cs_burst_budget){
        .share = share, .rate_hz = rate_hz, .chance = CS_MODEL_THINNING, .start_us = CS_MODEL_START_US};
    budget->period_s = CS_MODEL_THINNING * (rate_hz > 0 ? 1 / rate_hz : first_us * 1e-6 / share);
    budget->later_period_s = budget->period_s;
}

void cs_burst_budget_hurry(struct cs_burst_budget *budget, unsigned bursts)
{
    assert(budget->rate_hz <= 0 && !budget->accounted && budget->n == 0);
    budget->eager = bursts;
    if (bursts && budget->period_s > CS_MODEL_EVIDENCE_PERIOD_S)
        budget->period_s = CS_MODEL_EVIDENCE_PERIOD_S;
}

void cs_burst_budget_learn(struct cs_burst_budget *budget, double cost_us, double share, double trigger_s)
{
    if (budget->n < CS_MODEL_COST_MEMORY)
        budget->n++;
    budget->cost_us += (cost_us - budget->cost_us) / budget->n;
    if (budget->eager > 0 && --budget->eager == 0)
        budget->period_s = budget->later_period_s;
    if (budget->eager > 0)
        share = share < CS_MODEL_EVIDENCE_BUDGET ? CS_MODEL_EVIDENCE_BUDGET : share;
    if (budget->rate_hz > 0)
        return;
    double chance = (share * budget->period_s - trigger_s) / (budget->cost_us * 1e-6);
    budget->chance = chance > 1 ? 1 : chance < CS_MODEL_CHANCE_MIN ? CS_MODEL_CHANCE_MIN : chance;
    assert(budget->chance > 0 && budget->chance <= 1);
}

void cs_burst_budget_earn(struct cs_burst_budget *budget, double share, unsigned triggers)
{
    double most = share * CS_MODEL_SAVED_S * 1e6, more = share * budget->period_s * 1e6 * triggers;
    budget->left_us = budget->left_us + more < most ? budget->left_us + more : most;
}

void cs_burst_budget_spend(struct cs_burst_budget *budget, double us)
{
    budget->left_us -= us;
}

bool cs_burst_budget_may(const struct cs_burst_budget *budget)
{
    return !budget->accounted || budget->left_us >= 0;
}

bool cs_burst_budget_may_start(const struct cs_burst_budget *budget, double share)
{
    double most = share * CS_MODEL_SAVED_S * 1e6 / 2;
    return !budget->accounted || budget->left_us >= (budget->start_us < most ? budget->start_us : most);
}

void cs_burst_budget_started(struct cs_burst_budget *budget, double us)
{
    budget->start_us += (us - budget->start_us) / 4;
}

double cs_burst_budget_cost(double stopped_us, double cpu_us, double busy_cpus)
{
    double held = stopped_us * (busy_cpus > 1 ? busy_cpus : 1);
    return held > cpu_us ? held : cpu_us;
}
