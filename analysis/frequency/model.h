/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every constant of the frequency estimate that measurement chose: what it is, its unit, where it comes from,
 * what shows it. `bench/run sensitivity` changes each by a quarter and writes docs/lab/sensitivity.md. To try
 * another value: make CC="gcc -DCS_MODEL_NAME=VALUE".
 *
 * "trial" is a search over recordings of ten programs, judged by `cyclescope accuracy` (docs/lab). */
#pragma once

/* Edge flow: the chain of branches (edge_flow.h). */
/* Weight of a burst's entry and exit, beside 1 for an edge that was seen; unit: edges; source: trial;
 * shows: accuracy */
#ifndef CS_MODEL_BOUNDARY_WEIGHT
#define CS_MODEL_BOUNDARY_WEIGHT 0.6
#endif

/* Burst weights: how much a burst's edges count (burst_weights.c). */
/* Spread of instruction rates between hot-branch groups where none is timed; unit: standard deviation of
 * the log; source: trial; shows: accuracy */
#ifndef CS_MODEL_RATE_SPREAD
#define CS_MODEL_RATE_SPREAD 0.8
#endif
/* That many groups' worth it counts beside the spread that timed groups show, for how sure rates are; unit:
 * groups; source: trial; shows: calls-truth */
#ifndef CS_MODEL_RATE_SPREAD_GROUPS
#define CS_MODEL_RATE_SPREAD_GROUPS 4.0
#endif
/* The first one, left by timed intervals, which cover part of a group; unit: standard deviation of the log;
 * source: trial; shows: accuracy */
#ifndef CS_MODEL_INTERVAL_BIAS
#define CS_MODEL_INTERVAL_BIAS 0.5
#endif
/* A burst's edges count by 1 / (1 + its length / this); unit: instructions; source: trial; shows: accuracy */
#ifndef CS_MODEL_LONG_INSTRUCTIONS
#define CS_MODEL_LONG_INSTRUCTIONS 200000.0
#endif

/* Instruction rates of groups from timed intervals (instruction_rates.c). */
/* A shorter interval is dropped; unit: instructions; source: trial; shows: accuracy */
#ifndef CS_MODEL_INTERVAL_INSTRUCTIONS_MIN
#define CS_MODEL_INTERVAL_INSTRUCTIONS_MIN 5000
#endif
/* Share of a first interval that is left without the cost of the entry, or it is dropped; unit: 1; source:
 * trial; shows: accuracy */
#ifndef CS_MODEL_FIRST_LEFT_MIN
#define CS_MODEL_FIRST_LEFT_MIN 0.3333
#endif
/* Share of a group's intervals that stay in it, where it is a phase; unit: 1; source: trial; shows:
 * accuracy */
#ifndef CS_MODEL_PHASE_SHARE
#define CS_MODEL_PHASE_SHARE 0.6
#endif
/* The same where it surely is; unit: 1; source: trial; shows: accuracy */
#ifndef CS_MODEL_STEADY_SHARE
#define CS_MODEL_STEADY_SHARE 0.85
#endif
/* Intervals that it takes to be sure; unit: intervals; source: trial; shows: accuracy */
#ifndef CS_MODEL_STEADY_INTERVALS_MIN
#define CS_MODEL_STEADY_INTERVALS_MIN 20
#endif
/* An interval slower than this share of its group's median was disturbed; unit: 1; source: trial; shows:
 * accuracy */
#ifndef CS_MODEL_DISTURBED
#define CS_MODEL_DISTURBED 0.7
#endif

/* Strata: bursts by where they begin (strata.c). */
/* Bursts of a stratum, at least; unit: bursts; source: trial; shows: accuracy */
#ifndef CS_MODEL_STRATUM_BURSTS
#define CS_MODEL_STRATUM_BURSTS 20
#endif
/* A stratum is made of pieces of so much code; unit: bytes; source: trial; shows: accuracy */
#ifndef CS_MODEL_STRATUM_BYTES
#define CS_MODEL_STRATUM_BYTES 128
#endif

/* Confidence of a block or edge (frequency.c). */
/* High confidence up to this expected error; unit: standard deviation of the log; source: trial; shows:
 * accuracy */
#ifndef CS_MODEL_HIGH_ERROR
#define CS_MODEL_HIGH_ERROR 0.028
#endif
/* Medium up to this one; unit: standard deviation of the log; source: trial; shows: accuracy */
#ifndef CS_MODEL_MEDIUM_ERROR
#define CS_MODEL_MEDIUM_ERROR 0.05
#endif

/* Frequencies from samples alone (sample_priors.c), as published. */
/* Largest over smallest ratio of issue points of one cluster; unit: 1; source: dcpi-1997 6.1.3; shows:
 * accuracy-dcpi */
#ifndef CS_MODEL_CLUSTER
#define CS_MODEL_CLUSTER 1.5
#endif
/* Fewer samples of a class: the ratio of the sums; unit: samples; source: dcpi-1997 6.1.3; shows:
 * accuracy-dcpi */
#ifndef CS_MODEL_CLASS_SAMPLES_MIN
#define CS_MODEL_CLASS_SAMPLES_MIN 20
#endif
/* A cluster that implies a longer stall of one execution isn't right; unit: cycles; source: dcpi-1997
 * 6.1.3; shows: accuracy-dcpi */
#ifndef CS_MODEL_STALL_CYCLES_MAX
#define CS_MODEL_STALL_CYCLES_MAX 1000
#endif

/* Paths interpreted from samples (path_flow.c). */
/* Of reweighting groups of paths; unit: rounds; source: trial; shows: accuracy-paths */
#ifndef CS_MODEL_PATH_ROUNDS
#define CS_MODEL_PATH_ROUNDS 4
#endif
/* Share of a round's new weight, in the log; unit: 1; source: trial; shows: accuracy-paths */
#ifndef CS_MODEL_PATH_DAMPING
#define CS_MODEL_PATH_DAMPING 0.7
#endif
/* Of a group, beside 1 in the mean, and one over it the least; unit: 1; source: trial; shows:
 * accuracy-paths */
#ifndef CS_MODEL_PATH_WEIGHT_MAX
#define CS_MODEL_PATH_WEIGHT_MAX 20
#endif
/* A group of no more paths hardly moves from weight 1; unit: paths; source: trial; shows: accuracy-paths */
#ifndef CS_MODEL_PATH_PRIOR
#define CS_MODEL_PATH_PRIOR 3
#endif
/* Of a direction, by slow iterations that are sampled more; unit: logit; source: measured 0.40 to 0.52;
 * shows: accuracy-paths */
#ifndef CS_MODEL_PATH_BIAS
#define CS_MODEL_PATH_BIAS 0.5
#endif
/* Of an end that says nothing, beside an edge; unit: edges; source: trial; shows: accuracy-paths */
#ifndef CS_MODEL_PATH_CUT_WEIGHT
#define CS_MODEL_PATH_CUT_WEIGHT 0.003
#endif
