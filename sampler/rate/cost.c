/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Welford's moments with forgetting. */
#include "sampler/rate/cost.h"

#include <assert.h>
#include <math.h>

#define KEEP (31.0 / 32)
#define FEW 4.0 /* measurements say nothing yet */
#define ONE_SIDED 1.645

void cs_rate_cost_add(struct cs_rate_cost *cost, double seconds)
{
    assert(isfinite(seconds));
    double most = 4 * cost->mean;
    if (cost->weight >= FEW && most > 0 && seconds > most)
        seconds = most;
    cost->weight = KEEP * cost->weight + 1;
    double distance = seconds - cost->mean;
    cost->mean += distance / cost->weight;
    cost->squares = KEEP * cost->squares + distance * (seconds - cost->mean);
}

double cs_rate_cost_upper(const struct cs_rate_cost *cost)
{
    if (cost->weight < FEW - 0.5)
        return 0;
    double error = sqrt(cost->squares / cost->weight / (cost->weight - 1));
    double upper = cost->mean + ONE_SIDED * error;
    return upper > 0 ? upper : 0;
}
