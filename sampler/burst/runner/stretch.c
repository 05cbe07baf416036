/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When to look at a thread that was let go, and from moments whose places in the trace are known to a
 * stretch: a pair of time and instructions. Pure. */
#include "sampler/burst/runner/runner.h"
#include "sampler/burst/runner/sys.h"

/* The middle of a moment's places counts as its place while that may be off by one part in so many of the
 * stretch. */
#define TOLERANCE 8

#define TRACE_NS 250000ULL        /* of a fast trace, at least: room for two moments */
#define ROOM_MOST (8ULL << 20)    /* bytes of trace */
#define HALF_LEAST_NS 30000       /* of a trace: its last moment comes later than that */
#define HALF_MOST_NS 125000       /* of a long one */
#define PAIR_LEAST_NS 50000       /* between two moments: the first one's interrupt takes some 30 of that */
#define BYTES_TO_LEARN (64 << 10) /* of a trace, at least */
#define LATE_MOST_NS 60000        /* what is later fell due in the kernel, or on a CPU that was taken away */

uint64_t pace_room(const struct pace_clock *clock, uint64_t trace_bytes)
{
    uint64_t wanted = clock->fast_ns_64k ? (TRACE_NS << 16) / clock->fast_ns_64k : 0;
    wanted = wanted < ROOM_MOST ? wanted : ROOM_MOST;
    return wanted > trace_bytes ? wanted : trace_bytes;
}

/* What is known of the place; one that is new takes the room of another. */
static uint64_t *fast_at(struct pace_clock *clock, uint64_t place)
{
    unsigned slot = (unsigned)(place * 0x9e3779b97f4a7c15ULL >> 40) % PACE_PLACES;
    if (clock->at[slot].place != place) {
        clock->at[slot].place = place;
        clock->at[slot].fast_ns_64k = 0;
    }
    return &clock->at[slot].fast_ns_64k;
}

/* The last moment falls somewhere into the second half of what the trace takes, when the thread runs it as
 * fast as it does this place lately at its fastest, or any where that isn't known. Else what is fast would be
 * over too soon, and only what is slow timed. With another moment half way to it there is a stretch whose
 * caches are warm. */
void pace_plan(struct pace_clock *clock, uint64_t place, uint64_t trace_bytes, uint32_t random)
{
    uint64_t here = *fast_at(clock, place), fast = here ? here : clock->fast_ns_64k;
    uint64_t half_ns = trace_bytes * fast >> 17;
    clock->place = place;
    if (!fast || half_ns > HALF_MOST_NS)
        half_ns = HALF_MOST_NS;
    if (half_ns < HALF_LEAST_NS)
        half_ns = HALF_LEAST_NS;
    uint32_t last_ns = (uint32_t)(half_ns + (half_ns * (random & 0xffff) >> 16));
    clock->n_moments = last_ns / PACE_MOMENTS >= PAIR_LEAST_NS ? PACE_MOMENTS : 1;
    clock->period_ns = last_ns / clock->n_moments;
}

/* How late it was noted, by the clock that runs since the release. */
static uint64_t lateness(const struct pace_clock *clock, const struct moment *moment, unsigned number)
{
    uint64_t due = (uint64_t)clock->period_ns * (number + 1);
    return moment->time_ns > due ? moment->time_ns - due : 0;
}

/* Time that the thread spent in its own code, from its release to the first moment; 0: unknown. The clock
 * runs from when the thread has the CPU, and stops it when the period is over; what the moment is late then
 * is the way of an interrupt to who notes it. The thread's way to its code is nine tenths of that (13 us
 * where moments were 13.5 us late, 17 of 20, 9 of 11.5, on a virtual machine, by two loops that log their
 * turns). */
uint64_t pace_own_ns(const struct pace_clock *clock, const struct moment *moment)
{
    uint64_t late = lateness(clock, moment, 0), start = late * 9 / 10;
    return late < LATE_MOST_NS && clock->period_ns > 2 * start ? clock->period_ns - start : 0;
}

/* The same from the first moment to the second: what the first takes away is 1.8 times its lateness
 * (quartiles 1.73 and 1.87, on a virtual machine, by a loop that looks for gaps in its time), and the thread
 * was stopped twice at a distance of one period, to 0.2 us. */
static uint64_t own_between_ns(const struct pace_clock *clock, const struct moment *moment)
{
    uint64_t late = lateness(clock, &moment[0], 0), taken = late * 9 / 5;
    return late < LATE_MOST_NS && lateness(clock, &moment[1], 1) < LATE_MOST_NS &&
                   clock->period_ns > 2 * taken
               ? clock->period_ns - taken
               : 0;
}

uint32_t pace_cost_ns(const struct pace_clock *clock, const struct moment *moment, unsigned n)
{
    uint64_t cost = 0;
    for (unsigned i = 0; i < n; i++)
        cost += lateness(clock, &moment[i], i) * 9 / 5;
    return (uint32_t)cost;
}

/* Quickly towards faster code, slowly back: a trace that is over before its moment isn't timed, and where
 * that befalls fast code and not slow, or a place while nothing disturbs it and not else, the mean rate is
 * too low. */
static void learn(uint64_t *fast, uint64_t ns_64k, bool bound)
{
    if (!*fast)
        *fast = ns_64k;
    else if (ns_64k < *fast)
        *fast -= (*fast - ns_64k) / 4;
    else if (!bound)
        *fast += (ns_64k - *fast) / 64;
}

/* From a burst's stretches; the first tells only that the thread is not slower, as does a trace that was over
 * at its moment. */
void pace_learn(struct pace_clock *clock, const struct cs_burst_outcome *outcome, uint64_t trace_bytes,
                uint64_t trace_instructions, uint64_t own_ns)
{
    uint64_t ns = 0, instructions = 0;
    if (trace_bytes < BYTES_TO_LEARN || !outcome->pace_samples)
        return;
    for (uint32_t i = 0; i < outcome->n_paces; i++)
        if (outcome->pace[i].after_ns) {
            ns += outcome->pace[i].ns;
            instructions += outcome->pace[i].instructions;
        }
    bool bound = !instructions;
    if (bound && outcome->n_paces) {
        ns = outcome->pace[0].ns;
        instructions = outcome->pace[0].instructions;
    } else if (bound && outcome->pace_beyond == outcome->pace_samples) {
        ns = own_ns;
        instructions = trace_instructions;
    }
    uint64_t ns_64k = instructions ? (ns * trace_instructions / instructions << 16) / trace_bytes : 0;
    if (!ns_64k)
        return;
    learn(&clock->fast_ns_64k, ns_64k, bound);
    if (clock->place)
        learn(fast_at(clock, clock->place), ns_64k, bound);
}

/* Is where a stretch goes to and comes from known well enough? `places`: how far these are apart, both. */
static bool is_told(uint64_t from, uint64_t to, uint64_t places)
{
    return to > from && places / 2 * TOLERANCE <= to - from;
}

static void add(struct cs_burst_outcome *outcome, const struct run *run, uint64_t after_ns, uint64_t ns,
                uint64_t from, uint64_t to)
{
    outcome->pace_matched = 1;
    outcome->pace[outcome->n_paces++] = (struct cs_burst_pace){.place = busiest_branch(run, from, to),
                                                               .after_ns = (uint32_t)after_ns,
                                                               .ns = (uint32_t)ns,
                                                               .instructions = to - from};
}

/* Past the trace's end, or where the thread went another way (other threads, signals, clocks), a moment has
 * no place. With one place alone the stretch is from the release on, with cold caches. */
void pace_stretch(struct cs_burst_outcome *outcome, const struct run *run, const struct moment *moment,
                  unsigned n, const struct pace_clock *clock)
{
    uint64_t middle[PACE_MOMENTS] = {0}, places[PACE_MOMENTS] = {0}, begin_ns = pace_own_ns(clock, moment);
    for (unsigned i = 0; i < n; i++) {
        middle[i] = (moment[i].first + moment[i].last) / 2;
        places[i] = moment[i].last - moment[i].first;
    }
    outcome->pace_samples = 1;
    outcome->pace_beyond = !moment->n;
    if (outcome->pace_beyond || !begin_ns)
        return;
    uint64_t between_ns = n > 1 && moment[1].n ? own_between_ns(clock, moment) : 0;
    if (between_ns && is_told(middle[0], middle[1], places[0] + places[1]))
        add(outcome, run, clock->period_ns, between_ns, middle[0], middle[1]);
    else if (is_told(0, middle[0], places[0])) /* its beginning is off already: not after 0 ns */
        add(outcome, run, clock->period_ns - begin_ns + 1, begin_ns, 0, middle[0]);
    outcome->pace_ambiguous = !outcome->n_paces;
}
