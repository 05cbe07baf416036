/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Triggers come at a fixed period; which of them become bursts is drawn with a chance that follows the cost. */
#include "sampler/burst/budget.h"
#include "sampler/burst/burst_model.h"

void cs_burst_budget_begin(struct cs_burst_budget *budget, double share, double rate_hz, bool all)
{
    double first_us = all ? CS_MODEL_FIRST_COST_ALL_US : CS_MODEL_FIRST_COST_US;
    *budget = (struct cs_burst_budget){.share = share, .rate_hz = rate_hz, .chance = CS_MODEL_THINNING};
    budget->period_s = CS_MODEL_THINNING * (rate_hz > 0 ? 1 / rate_hz : first_us * 1e-6 / share);
}

void cs_burst_budget_learn(struct cs_burst_budget *budget, double cost_us, double share, double trigger_s)
{
    if (budget->n < CS_MODEL_COST_MEMORY)
        budget->n++;
    budget->cost_us += (cost_us - budget->cost_us) / budget->n;
    if (budget->eager > 0) {
        budget->eager--;
        share = share < CS_MODEL_EVIDENCE_BUDGET ? CS_MODEL_EVIDENCE_BUDGET : share;
    }
    if (budget->rate_hz > 0)
        return;
    double chance = (share * budget->period_s - trigger_s) / (budget->cost_us * 1e-6);
    budget->chance = chance > 1 ? 1 : chance < CS_MODEL_CHANCE_MIN ? CS_MODEL_CHANCE_MIN : chance;
}
