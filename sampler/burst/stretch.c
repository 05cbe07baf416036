/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When to look at a thread that was let go, and from a moment whose place in the trace is known to a stretch:
 * a pair of time and instructions. Pure. */
#include "sampler/burst/runner.h"
#include "sampler/burst/sys.h"

/* The middle of a moment's places counts as its place while it may be off by one part in so many of it. */
#define TOLERANCE 8

#define TRACE_NS 150000ULL        /* of a fast trace, at least */
#define ROOM_MOST (8ULL << 20)    /* bytes of trace */
#define HALF_LEAST_NS 30000       /* of a trace: its moment comes later than that */
#define HALF_MOST_NS 125000       /* of a long one */
#define BYTES_TO_LEARN (64 << 10) /* of a trace, at least */
#define LATE_MOST_NS 60000        /* what is later fell due in the kernel, or on a CPU that was taken away */

uint64_t pace_room(const struct pace_clock *clock, uint64_t trace_bytes)
{
    uint64_t wanted = clock->fast_ns_64k ? (TRACE_NS << 16) / clock->fast_ns_64k : 0;
    wanted = wanted < ROOM_MOST ? wanted : ROOM_MOST;
    return wanted > trace_bytes ? wanted : trace_bytes;
}

/* The moment falls somewhere into the second half of what the trace takes, when the thread runs it as fast as
 * it does its fast parts. Else those would be over too soon, and only slow ones timed. */
uint32_t pace_period(const struct pace_clock *clock, uint64_t trace_bytes, uint32_t random)
{
    uint64_t half_ns = trace_bytes * clock->fast_ns_64k >> 17;
    if (!clock->fast_ns_64k || half_ns > HALF_MOST_NS)
        half_ns = HALF_MOST_NS;
    if (half_ns < HALF_LEAST_NS)
        half_ns = HALF_LEAST_NS;
    return (uint32_t)(half_ns + (half_ns * (random & 0xffff) >> 16));
}

/* Time that the thread spent in its own code, from its release to a moment; 0: unknown. The clock runs from
 * when the thread has the CPU, and stops it when the period is over; what the moment is late then is the way
 * of an interrupt to who notes it. The thread's way to its code is nine tenths of that (13 us where moments
 * were 13.5 us late, 17 of 20, 9 of 11.5, on a virtual machine, by two loops that log their turns). */
uint64_t pace_own_ns(const struct pace_clock *clock, uint64_t count_ns)
{
    uint64_t late = count_ns > clock->period_ns ? count_ns - clock->period_ns : 0, start = late * 9 / 10;
    return late < LATE_MOST_NS && clock->period_ns > 2 * start ? clock->period_ns - start : 0;
}

/* Quickly towards faster code, slowly back: a trace that is over before its moment isn't timed, and where
 * that befalls fast code and not slow, or a place while nothing disturbs it and not else, the mean rate is
 * too low. */
static void learn(struct pace_clock *clock, uint64_t ns_64k)
{
    uint64_t fast = clock->fast_ns_64k;
    if (!fast)
        clock->fast_ns_64k = ns_64k;
    else
        clock->fast_ns_64k = ns_64k < fast ? fast - (fast - ns_64k) / 4 : fast + (ns_64k - fast) / 64;
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
    if (ns_64k && (!bound || ns_64k < clock->fast_ns_64k || !clock->fast_ns_64k))
        learn(clock, ns_64k);
}

/* Past the trace's end, or where the thread went another way (other threads, signals, clocks), a moment has
 * no place. */
void pace_stretch(struct cs_burst_outcome *outcome, const struct run *run, const struct moment *moment,
                  const struct pace_clock *clock)
{
    uint64_t own_ns = pace_own_ns(clock, moment->time_ns);
    uint64_t middle = (moment->first + moment->last) / 2;
    outcome->pace_samples = 1;
    outcome->pace_beyond = !moment->n;
    outcome->pace_ambiguous = moment->n && (moment->last - moment->first) / 2 * TOLERANCE > middle;
    if (outcome->pace_beyond || outcome->pace_ambiguous || !own_ns || !middle)
        return;
    outcome->pace_matched = 1;
    outcome->pace[outcome->n_paces++] = (struct cs_burst_pace){
        .place = busiest_branch(run, 0, middle),
        .after_ns = clock->period_ns - (uint32_t)own_ns + 1, /* not with its beginning: that is off already */
        .ns = (uint32_t)own_ns,
        .instructions = middle,
    };
}
