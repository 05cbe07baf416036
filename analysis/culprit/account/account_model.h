/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constants that only cycle accounting uses. Format and use as in analysis/culprit/classify/model.h. */
#pragma once

/* ---- branches ---- */
/* Times more wrong guesses that an earlier branch needs to be blamed for what shows right behind another one; unit:
 * factor; source: shares of bursts differ by less; shows: profile-error */
#ifndef CS_MODEL_BRANCH_NEARER
#define CS_MODEL_BRANCH_NEARER 2
#endif

/* A way that a branch takes less often gets its wrong guesses whole; unit: share; source: trial; shows:
 * culprits */
#ifndef CS_MODEL_WAY_RARE
#define CS_MODEL_WAY_RARE 0.2
#endif

/* ---- the core ---- */
/* Share of its executions in which the load of a chain through memory must have its bytes from a young store; unit: share;
 * source: all but the first turns of a loop; shows: culprits */
#ifndef CS_MODEL_CHAIN_FORWARDED
#define CS_MODEL_CHAIN_FORWARDED 0.5
#endif

/* A floating-point operation or multiplication of such a chain; unit: cycles; source: SDM, SOG: 3 to 5; shows: culprits */
#ifndef CS_MODEL_CHAIN_SLOW
#define CS_MODEL_CHAIN_SLOW 4
#endif

/* How late the interrupt of a counter may come; unit: instructions on the path; source: a PMI takes some tens of cycles
 * (SDM, "Precise Event-Based Sampling" gives its reason); shows: culprit-counted */
#ifndef CS_MODEL_COUNTED_SKID
#define CS_MODEL_COUNTED_SKID 64
#endif

/* ---- the surroundings of a stall on its path ---- */
/* How far back the path is looked at; unit: instructions; source: trial; shows: culprits */
#ifndef CS_MODEL_PATH_INSNS
#define CS_MODEL_PATH_INSNS 64
#endif

/* How far back a lock, or a load that an operand comes from, may lie; unit: instructions; source: trial;
 * shows: culprits */
#ifndef CS_MODEL_NEAR_INSNS
#define CS_MODEL_NEAR_INSNS 12
#endif

/* How far back a mispredicted branch may lie; unit: instructions; source: trial; shows: culprits */
#ifndef CS_MODEL_SHADOW_INSNS
#define CS_MODEL_SHADOW_INSNS 32
#endif

/* What a core holds between dispatch and retirement, at least; unit: instructions; source: SDM, SOG: 224
 * to 512; shows: culprits */
#ifndef CS_MODEL_REORDER_INSNS
#define CS_MODEL_REORDER_INSNS 256
#endif

/* Lines that a core fetches at a time; unit: lines; source: SDM, SOG: 10 to 24, rarely filled by the outer
 * levels; shows: culprits */
#ifndef CS_MODEL_LINES_IN_FLIGHT
#define CS_MODEL_LINES_IN_FLIGHT 12
#endif

/* Stalls and gains of neighbours below this are netted: retirement is in groups; unit: cycles; source:
 * trial; shows: culprits */
#ifndef CS_MODEL_NET_CYCLES
#define CS_MODEL_NET_CYCLES 1.5
#endif

/* Neighbours of one group of retirements that take up to this times what the model says are stretched alike; unit: factor;
 * source: trial; shows: profile-error */
#ifndef CS_MODEL_STRETCH_MOST
#define CS_MODEL_STRETCH_MOST 2
#endif

/* A stall of which rules expect less than this is netted whatever its size, where a clock counted the executions; unit: share;
 * source: trial; shows: culprits */
#ifndef CS_MODEL_NET_EXPECTED
#define CS_MODEL_NET_EXPECTED 0.25
#endif

/* Samples from which on an instruction has a stall of its own; unit: samples; source: trial; shows:
 * culprits */
#ifndef CS_MODEL_OWN_SAMPLES
#define CS_MODEL_OWN_SAMPLES 20
#endif

/* Samples that neighbours with fewer share; unit: samples; source: trial; shows: culprits */
#ifndef CS_MODEL_GROUP_SAMPLES
#define CS_MODEL_GROUP_SAMPLES 60
#endif

/* The first cause leads the second by so many standard deviations, or none is named: one verdict in twenty is by
 * chance; unit: standard deviations; source: normal distribution; shows: calc-default */
#ifndef CS_MODEL_VERDICT_SD
#define CS_MODEL_VERDICT_SD 1.645
#endif

/* Paths that fewer samples hang on have their static cycles from the generic core: asking llvm-mca for all
 * paths of a large program takes three times as long, and three samples are one give or take 0.6; unit: samples;
 * source: trial; shows: reports-large */
#ifndef CS_MODEL_PATH_SAMPLES
#define CS_MODEL_PATH_SAMPLES 3
#endif

/* Loops are run by themselves that have so much of the function's samples; unit: share; source: trial; shows: cost-truth */
#ifndef CS_MODEL_EXPERIMENT_SHARE
#define CS_MODEL_EXPERIMENT_SHARE 0.02
#endif

/* What a loop takes by itself is shared among causes as the model's cycles are, up to so many times these; unit: factor; source:
 * x87 code took more (logistic_map ten times), what else was measured less than 1.3 times; shows: culprit-fresh */
#ifndef CS_MODEL_EXPERIMENT_MOST
#define CS_MODEL_EXPERIMENT_MOST 2
#endif

/* And again without what may be why, those with so much; unit: share; source: less isn't the function's cause; shows:
 * cost-truth */
#ifndef CS_MODEL_VARIANT_SHARE
#define CS_MODEL_VARIANT_SHARE 0.25
#endif

/* And for a summary of a whole program, so many times what a path needs to be scheduled by the model; unit: factor; source:
 * trial (half a per cent of the samples); shows: reports-large */
#ifndef CS_MODEL_EXPERIMENT_PATHS
#define CS_MODEL_EXPERIMENT_PATHS 25
#endif

/* A path closes when one in so many visits of its last block leads back to its first; unit: factor;
 * source: trial; shows: culprits */
#ifndef CS_MODEL_LOOP_SHARE
#define CS_MODEL_LOOP_SHARE 12
#endif

/* Divisions queue when they follow one another within so many times what one takes; unit: factor; source:
 * trial; shows: culprits */
#ifndef CS_MODEL_DIVIDER_QUEUE
#define CS_MODEL_DIVIDER_QUEUE 1.05
#endif

/* Scales fit equally well whose misfit is by so much above the least; unit: share of the samples; source: 0.01 to 0.1 of ten
 * programs differ little (docs/lab/culprits.md); shows: unexplained-stall */
#ifndef CS_MODEL_MISFIT_ABOVE
#define CS_MODEL_MISFIT_ABOVE 0.01
#endif

/* Timed bursts from which on their rate bounds a fitted scale: one alone was off by eight times on a busy machine; unit:
 * bursts; source: trial; shows: culprit-kernels */
#ifndef CS_MODEL_TIMED_BURSTS
#define CS_MODEL_TIMED_BURSTS 5
#endif

/* How far rates of timed bursts of one piece of code lie apart; unit: standard deviation of the log; source: trial;
 * shows: culprit-kernels */
#ifndef CS_MODEL_TIMED_SPREAD
#define CS_MODEL_TIMED_SPREAD 0.5
#endif

/* How far all timed bursts of a program are off together, however many there are; unit: standard deviation of the log;
 * source: callgrind's counts of seven programs (docs/lab/culprits.md); shows: unexplained-stall */
#ifndef CS_MODEL_TIMED_BIAS
#define CS_MODEL_TIMED_BIAS 0.5
#endif
