/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When to take register snapshots of a thread that was let go, and from those to timed intervals. Pure. */
#pragma once

#include "sampler/burst/replayer/trace/match_registers.h"

#define HOT_BRANCHES_KEPT 64
struct snapshot_clock {
    uint32_t period_ns; /* from the release to the first snapshot, and to each other one */
    uint32_t n_snapshots;
    uint64_t fast_ns_64k; /* what 64 KB of trace take where the program is fast; 0: unknown */
    uint64_t hot_branch;  /* of this burst's beginning; 0: it has no snapshots */
    struct {
        uint64_t hot_branch, fast_ns_64k;
    } at[HOT_BRANCHES_KEPT];
};
/* The room of a trace, at least `trace_bytes`: fast code needs more to last as long. */
uint64_t snapshot_room(const struct snapshot_clock *clock, uint64_t trace_bytes);
/* Period and number of snapshots, for a trace of so many bytes, and the branch that its beginning executes
 * most. */
void snapshot_schedule(struct snapshot_clock *clock, uint64_t hot_branch, uint64_t trace_bytes,
                       uint32_t random);
/* Of the first of a burst's snapshots, whose time_ns is the clock's when it was noted. */
uint64_t snapshot_own_ns(const struct snapshot_clock *clock, const struct snapshot *snapshot);
/* What a burst's snapshots took of the thread's time. */
uint32_t timing_cost_ns(const struct snapshot_clock *clock, const struct snapshot *snapshot, unsigned n);
/* From a burst's intervals; own_ns: without any, of a trace that was over by then. */
void snapshot_learn(struct snapshot_clock *clock, const struct cs_burst_outcome *outcome,
                    uint64_t trace_bytes, uint64_t trace_instructions, uint64_t own_ns);
/* By the 1 to SNAPSHOTS_MAX snapshots that came. */
void snapshot_interval(struct cs_burst_outcome *outcome, const struct run *run,
                       const struct snapshot *snapshot, unsigned n, const struct snapshot_clock *clock);
