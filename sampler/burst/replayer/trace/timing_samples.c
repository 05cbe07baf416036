/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When to look at a thread that was let go. Snapshots whose places in the trace are known to an interval
 * give a pair of time and instructions. Pure. */
#include "sampler/burst/replayer/trace/timing_samples.h"
#include "sampler/burst/runner/timing_model.h"

uint64_t snapshot_room(const struct snapshot_clock *clock, uint64_t trace_bytes)
{
    uint64_t wanted = clock->fast_ns_64k ? (CS_MODEL_TRACE_NS << 16) / clock->fast_ns_64k : 0;
    wanted = wanted < CS_MODEL_TRACE_ROOM ? wanted : CS_MODEL_TRACE_ROOM;
    return wanted > trace_bytes ? wanted : trace_bytes;
}

/* What is known of the branch; one that is new takes the room of another. */
static uint64_t *fast_at(struct snapshot_clock *clock, uint64_t hot_branch)
{
    unsigned slot = (unsigned)(hot_branch * 0x9e3779b97f4a7c15ULL >> 40) % HOT_BRANCHES_KEPT;
    if (clock->at[slot].hot_branch != hot_branch) {
        clock->at[slot].hot_branch = hot_branch;
        clock->at[slot].fast_ns_64k = 0;
    }
    return &clock->at[slot].fast_ns_64k;
}

/* The last snapshot falls somewhere into the second half of what the trace takes, when the thread runs it as
 * fast as it runs this branch's code lately at its fastest, or any where that isn't known. Else what is fast
 * would be over too soon, and only what is slow timed. With another snapshot half way to it there is an
 * interval whose caches are warm. */
void snapshot_schedule(struct snapshot_clock *clock, uint64_t hot_branch, uint64_t trace_bytes,
                       uint32_t random)
{
    uint64_t here = *fast_at(clock, hot_branch), fast = here ? here : clock->fast_ns_64k;
    uint64_t half_ns = trace_bytes * fast >> 17;
    clock->hot_branch = hot_branch;
    if (!fast || half_ns > CS_MODEL_HALF_MOST_NS)
        half_ns = CS_MODEL_HALF_MOST_NS;
    if (half_ns < CS_MODEL_HALF_LEAST_NS)
        half_ns = CS_MODEL_HALF_LEAST_NS;
    uint32_t last_ns = (uint32_t)(half_ns + (half_ns * (random & 0xffff) >> 16));
    clock->n_snapshots = last_ns / SNAPSHOTS_MAX >= CS_MODEL_PAIR_LEAST_NS ? SNAPSHOTS_MAX : 1;
    clock->period_ns = last_ns / clock->n_snapshots;
}

/* How late it was noted, by the clock that runs since the release. */
static uint64_t lateness(const struct snapshot_clock *clock, const struct snapshot *snapshot, unsigned number)
{
    uint64_t due = (uint64_t)clock->period_ns * (number + 1);
    return snapshot->time_ns > due ? snapshot->time_ns - due : 0;
}

/* Time that the thread spent in its own code, from its release to the first snapshot; 0: unknown. The clock
 * runs from when the thread has the CPU, and stops it when the period is over; what the snapshot is late then
 * is the way of an interrupt to who notes it. The thread's way to its code is a part of that. */
uint64_t snapshot_own_ns(const struct snapshot_clock *clock, const struct snapshot *snapshot)
{
    uint64_t late = lateness(clock, snapshot, 0), start = late * CS_MODEL_LATE_TO_START / 10;
    return late < CS_MODEL_LATE_MOST_NS && clock->period_ns > 2 * start ? clock->period_ns - start : 0;
}

/* The same from the first snapshot to the second: what the first takes away is in proportion to its
 * lateness, and the thread was stopped twice at a distance of one period, to 0.2 us. */
static uint64_t own_between_ns(const struct snapshot_clock *clock, const struct snapshot *snapshot)
{
    uint64_t late = lateness(clock, &snapshot[0], 0), taken = late * CS_MODEL_LATE_TO_TAKEN / 10;
    return late < CS_MODEL_LATE_MOST_NS && lateness(clock, &snapshot[1], 1) < CS_MODEL_LATE_MOST_NS &&
                   clock->period_ns > 2 * taken
               ? clock->period_ns - taken
               : 0;
}

uint32_t timing_cost_ns(const struct snapshot_clock *clock, const struct snapshot *snapshot, unsigned n)
{
    uint64_t cost = 0;
    for (unsigned i = 0; i < n; i++)
        cost += lateness(clock, &snapshot[i], i) * CS_MODEL_LATE_TO_TAKEN / 10;
    return (uint32_t)cost;
}

/* Quickly towards faster code, slowly back: a trace that is over before its snapshot isn't timed, and where
 * that befalls fast code and not slow, or a branch while nothing disturbs it and not else, the mean rate is
 * too low. */
static void learn(uint64_t *fast, uint64_t ns_64k, bool bound)
{
    if (!*fast)
        *fast = ns_64k;
    else if (ns_64k < *fast)
        *fast -= (*fast - ns_64k) / CS_MODEL_FASTER_PART;
    else if (!bound)
        *fast += (ns_64k - *fast) / CS_MODEL_SLOWER_PART;
}

/* From a burst's intervals; the first tells only that the thread is not slower, as does a trace that was over
 * at its snapshot. */
void snapshot_learn(struct snapshot_clock *clock, const struct cs_burst_outcome *outcome,
                    uint64_t trace_bytes, uint64_t trace_instructions, uint64_t own_ns)
{
    uint64_t ns = 0, instructions = 0;
    if (trace_bytes < CS_MODEL_BYTES_TO_LEARN || !outcome->timing_tried)
        return;
    for (uint32_t i = 0; i < outcome->n_intervals; i++)
        if (outcome->interval[i].after_ns) {
            ns += outcome->interval[i].ns;
            instructions += outcome->interval[i].instructions;
        }
    bool bound = !instructions;
    if (bound && outcome->n_intervals) {
        ns = outcome->interval[0].ns;
        instructions = outcome->interval[0].instructions;
    } else if (bound && outcome->timing_beyond == outcome->timing_tried) {
        ns = own_ns;
        instructions = trace_instructions;
    }
    uint64_t ns_64k = instructions ? (ns * trace_instructions / instructions << 16) / trace_bytes : 0;
    if (!ns_64k)
        return;
    learn(&clock->fast_ns_64k, ns_64k, bound);
    if (clock->hot_branch)
        learn(fast_at(clock, clock->hot_branch), ns_64k, bound);
}

/* Is where an interval goes to and comes from known well enough? `places`: how far these are apart, both. */
static bool is_told(uint64_t from, uint64_t to, uint64_t places)
{
    return to > from && places / 2 * CS_MODEL_SNAPSHOT_TOLERANCE <= to - from;
}

static void add(struct cs_burst_outcome *outcome, const struct run *run, uint64_t after_ns, uint64_t ns,
                uint64_t from, uint64_t to)
{
    outcome->timing_found = 1;
    outcome->interval[outcome->n_intervals++] =
        (struct cs_burst_timed_interval){.hot_branch = busiest_branch(run, from, to),
                                         .after_ns = (uint32_t)after_ns | 1,
                                         .ns = (uint32_t)ns,
                                         .instructions = to - from};
}

/* Past the trace's end, or where the thread went another way (other threads, signals, clocks), a snapshot has
 * no position. With one position alone the interval is from the release on, with cold caches. */
void snapshot_interval(struct cs_burst_outcome *outcome, const struct run *run,
                       const struct snapshot *snapshot, unsigned n, const struct snapshot_clock *clock)
{
    uint64_t middle[SNAPSHOTS_MAX] = {0}, places[SNAPSHOTS_MAX] = {0},
             begin_ns = snapshot_own_ns(clock, snapshot);
    for (unsigned i = 0; i < n; i++) {
        middle[i] = (snapshot[i].first + snapshot[i].last) / 2;
        places[i] = snapshot[i].last - snapshot[i].first;
    }
    outcome->timing_tried = 1;
    outcome->timing_beyond = !snapshot->n;
    if (outcome->timing_beyond || !begin_ns)
        return;
    uint64_t between_ns = n > 1 && snapshot[1].n ? own_between_ns(clock, snapshot) : 0;
    if (between_ns && is_told(middle[0], middle[1], places[0] + places[1]))
        add(outcome, run, clock->period_ns, between_ns, middle[0], middle[1]);
    else if (is_told(0, middle[0], places[0])) /* its beginning is off already: not after 0 ns */
        add(outcome, run, clock->period_ns - begin_ns + 1, begin_ns, 0, middle[0]);
    outcome->timing_ambiguous = !outcome->n_intervals;
}
