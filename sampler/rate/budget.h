/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often to sample: a period, a budget, and what a sample costs.
 *
 * Files of this module:
 *   budget            the rate for a budget
 *   cost              the cost of a sample, from many noisy measurements
 *   cost_measurement  one such measurement, on the calling thread
 *   period            periods drawn at random around a mean
 *
 * A rate for a budget: how often may be sampled so that the profiled work loses at most a given share of its
 * time. The cost of one sample differs a hundredfold between bare metal and virtual machines. So it is
 * measured (cost_measurement.h) and fed in here with the collector's use and the time that bursts held.
 * Pure.
 *
 *   loss = rate · events · cost          interrupts: every busy CPU pays them
 *        + collector / (CPUs · time)     its CPU time displaces work as far as CPUs are busy; of some processes
 *                                        it is a share of their own time (of a tenth of a CPU at least: who
 *                                        nearly sleeps is not harmed by what another CPU does)
 *        + held / busy                   threads that bursts stopped
 *
 * Busy is what the samples of some windows say together, not of one. At one sample a second a window without
 * samples would say that nothing ran, and that bursts held all of it.
 *
 * Invariant: the rate never makes the predicted loss exceed the budget, unless the fixed part by itself takes
 * nearly all of it. Then samples still get a twentieth, or the fixed part would be spent for nothing. Where that
 * exceeds the budget, `over` says so. */
#pragma once

#include <stdbool.h>

/* Of the budget this much is planned: caches and TLBs that an interrupt cools are not in its cost. */
#define CS_RATE_BUDGET_MARGIN 0.7
/* This part of it samples get in any case, as long as that isn't more than this many a second. */
#define CS_RATE_BUDGET_LEAST 0.05
#define CS_RATE_BUDGET_LEAST_HZ 20

struct cs_rate_budget {
    double share; /* 0.005 = 0.5 % */
    double least_hz, most_hz;
    unsigned n_events, n_cpus;
    double cost_seconds;   /* of one sample, to the interrupted work */
    double rate_hz;        /* asked for now */
    double fixed;          /* smoothed share of time that does not come from the rate */
    double per_hz;         /* smoothed share of time that the collector takes for each Hz */
    double held_weight;    /* of what bursts held in the plan: 1, until it is set; MARGIN: they cost what is
                            * charged, and no more */
    double samples, asked; /* of the last windows, older ones fading: delivered, and of one CPU always busy */
    bool of_busy;          /* the collector's time counts as a share of the time of what is sampled */
    double busy_cpus;      /* that it keeps busy, as of the last update */
    double loss;           /* as of the last update */
    bool over;
};

/* What happened since the last update. */
struct cs_rate_budget_window {
    double seconds;           /* of wall time */
    double samples;           /* delivered */
    double collector_seconds; /* CPU time of the session */
    double held_seconds;      /* of threads that bursts stopped */
};

void cs_rate_budget_init(struct cs_rate_budget *budget, double share, unsigned n_events, unsigned n_cpus,
                         double cost_seconds);
/* A new measurement of the cost. */
void cs_rate_budget_cost(struct cs_rate_budget *budget, double cost_seconds);
/* So much will be held: planned before the first window tells. */
void cs_rate_budget_reserve(struct cs_rate_budget *budget, double held_share);
/* Returns the rate for the next window; it moves in steps of more than 5 % only, because setting it costs. */
double cs_rate_budget_update(struct cs_rate_budget *budget, const struct cs_rate_budget_window *window);
