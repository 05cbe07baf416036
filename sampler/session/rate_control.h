/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often a session samples: the periods of its events, and the window over which the budget is kept.
 * One owner; `held_ns` and `cost_seconds` are read and written atomically by other threads. */
#pragma once

#include "sampler/rate/budget.h"
#include "sampler/rate/cost.h"
#include "sampler/rate/period.h"
#include "sampler/session/open_events.h"

struct cs_session_rate {
    double rate_hz; /* of a busy CPU, asked for now */
    bool changed;   /* threads that inherited their events don't know yet */
    struct cs_rate_period periods[CS_SAMPLER_EVENTS_MAX];
    bool by_frequency[CS_SAMPLER_EVENTS_MAX]; /* the kernel adapts the period (counted events with a rate) */
    uint64_t next_redraw_ns;

    struct cs_rate_budget budget;
    struct cs_rate_cost cost; /* of a sample */
    double cost_seconds;      /* its upper bound; read by other threads */
    uint64_t next_budget_ns, next_calibration_ns;
    double amortised_seconds; /* CPU time of calibrations and merges that is not charged yet */
    struct {                  /* as the budget's window began */
        uint64_t begin_ns, samples, held_ns;
        double collector_seconds;
    } window;
    uint64_t weighed;                   /* samples ever whose period is in these: */
    double merging_ns, merging_samples; /* since the last merge: sum of periods, number */
    uint64_t held_ns;                   /* of threads that bursts stopped, in all */
    double busy_cpus; /* that what is sampled keeps busy; 0: not known. Read by other threads */
};

/* Bursts' share of the target's time, of the budget asked for; 0: none was. */
double cs_session_rate_bursts(const struct cs_sampler_config *config);

/* Before events are opened: their first period. */
int cs_session_rate_init(struct cs_session_rate *rate, struct cs_session_events *events,
                         const struct cs_sampler_config *config, struct cs_error *err);
/* Sampling begins. */
void cs_session_rate_start(struct cs_session_rate *rate, const struct cs_session_events *events,
                           const struct cs_sampler_config *config);
uint64_t cs_session_rate_due(const struct cs_session_rate *rate);
/* When that has come. True: the period is another one, which threads that inherited events must be told. */
bool cs_session_rate_tick(struct cs_session_rate *rate, struct cs_session_events *events,
                          const struct cs_sampler_config *config, uint64_t now_ns);
/* CPU time of what happens rarely (a merge, a calibration): the budget pays for it over a minute, or the rate
 * would drop after each. */
void cs_session_rate_amortise(struct cs_session_rate *rate, double cpu_seconds);
/* Mean period of a clock that the budget moves, of the samples since this was last asked. */
double cs_session_rate_mean_period_ns(struct cs_session_rate *rate, const struct cs_session_events *events);
