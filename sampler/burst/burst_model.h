/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every constant of how often and for how long bursts stop threads: what it is, its unit, which `bench/run`
 * shows it. One without a source was chosen by how the first programs behaved, and nobody wrote down what
 * other values would do. To try another value: make EXTRA_CFLAGS=-DCS_MODEL_NAME=VALUE. */
#pragma once

/* ---- a burst (session.c, burst_length.c) ---- */
/* Its length, at most, unless the caller says one; unit: instructions; shows: burst-rate */
#ifndef CS_MODEL_BURST_INSTRUCTIONS
#define CS_MODEL_BURST_INSTRUCTIONS 16000
#endif
/* Its length, at least; unit: instructions; shows: burst-hold */
#ifndef CS_MODEL_BURST_INSTRUCTIONS_MIN
#define CS_MODEL_BURST_INSTRUCTIONS_MIN 4000
#endif
/* From asking for it to stopping the thread, at least, in the thread's own time; unit: ns; shows: burst-hold */
#ifndef CS_MODEL_LEAD_NS
#define CS_MODEL_LEAD_NS 20000
#endif
/* ... and so much more at random, so that no code is always a burst's first; unit: ns; shows: burst-hold */
#ifndef CS_MODEL_LEAD_SPAN_NS
#define CS_MODEL_LEAD_SPAN_NS 60000
#endif
/* How long to wait for the thread; unit: ms; shows: burst-rate */
#ifndef CS_MODEL_TIMEOUT_MS
#define CS_MODEL_TIMEOUT_MS 20
#endif
/* For how long a thread is stopped at most; unit: us; shows: burst-hold */
#ifndef CS_MODEL_STOPPED_MAX_US
#define CS_MODEL_STOPPED_MAX_US 4000
#endif
/* The same in a program's first bursts, whose code is new to the runner; unit: us; shows: burst-hold */
#ifndef CS_MODEL_STOPPED_FIRST_US
#define CS_MODEL_STOPPED_FIRST_US 2000
#endif
/* For how long a burst of a process should stop its thread on average. Where pages are touched at random a
 * burst of 16,000 takes 5 ms; one that is cut off because it took long leaves out just the code that is slow,
 * a shorter one for the whole process doesn't; unit: us; shows: burst-hold */
#ifndef CS_MODEL_STOPPED_WANTED_US
#define CS_MODEL_STOPPED_WANTED_US 2500.0
#endif
/* Bursts of a process that its length is learnt from; unit: bursts; shows: burst-hold */
#ifndef CS_MODEL_LENGTH_MEMORY
#define CS_MODEL_LENGTH_MEMORY 64
#endif
/* Bursts of a process that meet code new to the runner; unit: bursts; shows: burst-hold */
#ifndef CS_MODEL_FIRST_BURSTS
#define CS_MODEL_FIRST_BURSTS 8
#endif
/* The length of those, at most; unit: instructions; shows: burst-hold */
#ifndef CS_MODEL_FIRST_INSTRUCTIONS
#define CS_MODEL_FIRST_INSTRUCTIONS 4000
#endif

/* ---- timed bursts (session.c, timing_share.c) ---- */
/* A timed burst runs on over what the thread does in the next 0.1 to 0.3 ms, in which it is watched. Longer
 * ones time later intervals, too, but are fewer, shorter ones are more and time less of each: on ten programs
 * no better; unit: instructions; shows: burst-pace */
#ifndef CS_MODEL_TIMED_INSTRUCTIONS
#define CS_MODEL_TIMED_INSTRUCTIONS 500000
#endif
/* For how long it stops the thread at most; unit: us; shows: burst-hold */
#ifndef CS_MODEL_TIMED_STOPPED_MAX_US
#define CS_MODEL_TIMED_STOPPED_MAX_US 3000
#endif
/* Timed bursts' share of what bursts cost. Half of that less cost frequencies five points (within 10 %,
 * twelve runs), half of the plain ones half a point; unit: share; shows: accuracy */
#ifndef CS_MODEL_TIMED_PART
#define CS_MODEL_TIMED_PART 0.75
#endif
/* Of a process's bursts at least this share is timed; unit: share; shows: accuracy */
#ifndef CS_MODEL_TIMED_MIN
#define CS_MODEL_TIMED_MIN 0.1
#endif
/* Programs that touch new pages all the time (zstd) use up the time for which a timed burst may stop them
 * before there is anything to time, and its edges are cut off at a page: fewer than this share of timed ones
 * that tell something are in vain; unit: share; shows: accuracy */
#ifndef CS_MODEL_TIMED_IN_VAIN
#define CS_MODEL_TIMED_IN_VAIN 0.1
#endif
/* Then only this share is timed, to see whether that is still so; unit: share; shows: accuracy */
#ifndef CS_MODEL_TIMED_SHARE_IN_VAIN
#define CS_MODEL_TIMED_SHARE_IN_VAIN 0.03
#endif
/* Bursts of either kind that its cost is learnt from; unit: bursts; shows: accuracy */
#ifndef CS_MODEL_TIMED_MEMORY
#define CS_MODEL_TIMED_MEMORY 16
#endif

/* ---- the budget (budget.c) ---- */
/* Of the target's time, unless the caller or the sampler says how much; unit: share; shows: burst-loss */
#ifndef CS_MODEL_BURST_BUDGET
#define CS_MODEL_BURST_BUDGET 0.005
#endif
/* A command's first bursts may cost more of its time, unless a budget or a rate was asked: or a program whose bursts
 * take 4 ms gets five in its first 4 s, where causes take some twenty to a hundred to be told apart
 * (culprit/verdict.h), and frequencies more; unit: bursts; source: docs/lab/bursts.md; shows: calc-default,
 * accuracy-10s */
#ifndef CS_MODEL_EVIDENCE_BURSTS
#define CS_MODEL_EVIDENCE_BURSTS 160
#endif
/* How much; unit: share; shows: calc-default */
#ifndef CS_MODEL_EVIDENCE_BUDGET
#define CS_MODEL_EVIDENCE_BUDGET 0.05
#endif
/* The period of triggers meanwhile, at most: there are no more bursts than triggers; unit: s; shows: accuracy-10s */
#ifndef CS_MODEL_EVIDENCE_PERIOD_S
#define CS_MODEL_EVIDENCE_PERIOD_S 0.025
#endif
/* What a burst costs beside the time that we see the thread stopped: stop and go, timers, caches cold
 * afterwards. A command also pays, by what they share, for the runner's work on another CPU, which isn't
 * charged; source: burst-rate, burst-loss; unit: us; shows: burst-rate */
#ifndef CS_MODEL_BESIDE_US
#define CS_MODEL_BESIDE_US 300.0
#endif
/* The same where all that runs is the target: there CPU time of runners and of our thread is charged, too, as
 * on a busy machine it is taken from somebody, and the CPU of the thread that is stopped stands idle for too
 * short a time to be of use; source: burst-rate, burst-loss; unit: us; shows: burst-rate */
#ifndef CS_MODEL_BESIDE_ALL_US
#define CS_MODEL_BESIDE_ALL_US 220.0
#endif
/* What a burst is taken to cost before the first; unit: us; shows: burst-rate */
#ifndef CS_MODEL_FIRST_COST_US
#define CS_MODEL_FIRST_COST_US 800.0
#endif
/* The same where all that runs is the target; unit: us; shows: burst-rate */
#ifndef CS_MODEL_FIRST_COST_ALL_US
#define CS_MODEL_FIRST_COST_ALL_US 1600.0
#endif
/* Bursts that the cost is learnt from; unit: bursts; shows: burst-rate */
#ifndef CS_MODEL_COST_MEMORY
#define CS_MODEL_COST_MEMORY 32
#endif
/* Triggers come more often than bursts: this share becomes one at first; unit: share; shows: burst-rate */
#ifndef CS_MODEL_THINNING
#define CS_MODEL_THINNING 0.5
#endif
/* And this share at least; unit: share; shows: burst-rate */
#ifndef CS_MODEL_CHANCE_MIN
#define CS_MODEL_CHANCE_MIN 0.02
#endif

/* What the start of a runner is taken to cost before the first; unit: us; shows: budget-trees */
#ifndef CS_MODEL_START_US
#define CS_MODEL_START_US 8000.0
#endif
/* So much of the target's time may be saved up: a second's share pays for a runner's start, and no storm of bursts
 * follows an idle hour; unit: s; shows: budget-trees */
#ifndef CS_MODEL_SAVED_S
#define CS_MODEL_SAVED_S 1.0
#endif

/* ---- processes (followed.c) ---- */
/* A process that lives for less isn't worth a runner; unit: ns; shows: burst-rate */
#ifndef CS_MODEL_NEW_PROCESS_NS
#define CS_MODEL_NEW_PROCESS_NS 100000000ULL
#endif
/* Runners at once, at most: each takes 6 MB at rest and up to 40 while it is busy; unit: runners; shows:
 * tests/integration/burst_runners.sh */
#ifndef CS_MODEL_RUNNERS_MAX
#define CS_MODEL_RUNNERS_MAX 8
#endif
/* What they take together, at most, unless the caller says so; unit: bytes */
#ifndef CS_MODEL_RUNNERS_BYTES
#define CS_MODEL_RUNNERS_BYTES 96000000ULL
#endif
/* A runner used within this time doesn't give way to another program's: to start one takes some ms; unit: ns */
#ifndef CS_MODEL_RUNNER_IDLE_NS
#define CS_MODEL_RUNNER_IDLE_NS 1000000000ULL
#endif
/* How often what they take is counted; unit: ns */
#ifndef CS_MODEL_RUNNERS_COUNTED_NS
#define CS_MODEL_RUNNERS_COUNTED_NS 250000000ULL
#endif
/* For how long one whose runner failed isn't tried again, the first time; unit: ns; shows:
 * tests/unit/sampler/burst/burst_budget_test.c */
#ifndef CS_MODEL_FAILED_NS
#define CS_MODEL_FAILED_NS 1000000000ULL
#endif
/* For how long one that can't be followed isn't tried again; unit: ns; shows: burst-rate */
#ifndef CS_MODEL_DENIED_NS
#define CS_MODEL_DENIED_NS 60000000000ULL
#endif
