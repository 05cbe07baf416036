/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cost of either kind of burst is a mean that follows the last ones. A fixed part of their costs goes to
 * timed ones, and nearly none where those show nothing. */
#include "sampler/burst/timing_share.h"
#include "sampler/burst/burst_model.h"

#include <assert.h>

double cs_burst_timing_share_next(const struct cs_burst_timing_share *timing)
{
    if (timing->n_timed >= CS_MODEL_TIMED_MEMORY && timing->told < CS_MODEL_TIMED_IN_VAIN)
        return CS_MODEL_TIMED_SHARE_IN_VAIN;
    double plain = CS_MODEL_TIMED_PART * timing->plain_us,
           timed = (1 - CS_MODEL_TIMED_PART) * timing->timed_us;
    double share = plain > 0 && timed > 0 ? plain / (plain + timed) : 0.5;
    assert(share >= 0 && share <= 1);
    return share < CS_MODEL_TIMED_MIN ? CS_MODEL_TIMED_MIN : share;
}

void cs_burst_timing_share_learn(struct cs_burst_timing_share *timing, bool timed, bool told, double cost_us)
{
    double *cost = timed ? &timing->timed_us : &timing->plain_us;
    *cost += *cost > 0 ? (cost_us - *cost) / CS_MODEL_TIMED_MEMORY : cost_us;
    if (!timed)
        return;
    if (timing->n_timed < CS_MODEL_TIMED_MEMORY)
        timing->n_timed++;
    timing->told += ((told ? 1 : 0) - timing->told) / timing->n_timed;
}
