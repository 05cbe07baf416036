/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rate for a budget: solves the loss equation of budget.h for the rate, with the measured parts smoothed.
 */
#include "sampler/rate/budget.h"

#include <assert.h>

#define SMOOTH 0.25 /* weight of the newest window */
#define STEP 0.05
#define COST_UNKNOWN 25e-6 /* a virtual machine's: rather too dear than too cheap */

static double clamp(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* rate · (events · cost + per_hz) + fixed = CS_RATE_BUDGET_MARGIN · share */
static double solve(struct cs_rate_budget *b)
{
    double free_share = CS_RATE_BUDGET_MARGIN * b->share - b->fixed;
    double rate = free_share / (b->n_events * b->cost_seconds + b->per_hz);
    b->over = rate < b->least_hz;
    assert(b->least_hz > 0 && b->least_hz <= b->most_hz);
    return clamp(rate, b->least_hz, b->most_hz);
}

void cs_rate_budget_init(struct cs_rate_budget *b, double share, unsigned n_events, unsigned n_cpus,
                         double cost_seconds)
{
    *b = (struct cs_rate_budget){.share = share,
                                 .most_hz = 20000,
                                 .n_events = n_events ? n_events : 1,
                                 .n_cpus = n_cpus ? n_cpus : 1,
                                 .held_weight = 1};
    cs_rate_budget_cost(b, cost_seconds);
    b->rate_hz = solve(b);
}

void cs_rate_budget_cost(struct cs_rate_budget *b, double cost_seconds)
{
    b->cost_seconds = cost_seconds > 0 ? cost_seconds : COST_UNKNOWN;
    b->least_hz =
        clamp(CS_RATE_BUDGET_LEAST * b->share / (b->n_events * b->cost_seconds), 1, CS_RATE_BUDGET_LEAST_HZ);
}

void cs_rate_budget_reserve(struct cs_rate_budget *b, double held_share)
{
    b->fixed = b->held_weight * held_share;
    b->rate_hz = solve(b);
}

double cs_rate_budget_update(struct cs_rate_budget *b, const struct cs_rate_budget_window *w)
{
    if (w->seconds <= 0)
        return b->rate_hz;
    double wall = w->seconds * b->n_cpus;
    b->samples += w->samples - SMOOTH * b->samples;
    b->asked += b->rate_hz * b->n_events * w->seconds - SMOOTH * b->asked;
    double busy = clamp(b->samples / b->asked * w->seconds, 0.01 * w->seconds, wall);

    /* The collector's time goes up with the samples only where there are many. */
    double collector = w->collector_seconds / (b->of_busy ? clamp(busy, 0.1 * w->seconds, wall) : wall);
    double with_rate = w->samples > 1000 ? collector / 2 : 0;
    double held = w->held_seconds / busy;
    b->busy_cpus = busy / w->seconds;
    b->per_hz += SMOOTH * (with_rate / b->rate_hz - b->per_hz);
    b->fixed += SMOOTH * (collector - with_rate + b->held_weight * held - b->fixed);
    b->loss = b->rate_hz * b->n_events * b->cost_seconds + collector + held;

    double rate = solve(b);
    if (rate > b->rate_hz * (1 + STEP) || rate < b->rate_hz * (1 - STEP))
        b->rate_hz = rate;
    assert(b->rate_hz <= b->most_hz);
    return b->rate_hz;
}
