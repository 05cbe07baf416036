/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When to look at a thread that was let go, and from moments whose place in the trace is known to stretches:
 * pairs of time and instructions. Pure. */
#include "sampler/burst/runner.h"
#include "sampler/burst/sys.h"

/* The middle of a moment's places counts as its place while a stretch's ends, together, may be off by one
 * part in so many of it. One burst times a place to 10 % at best (analysis/transfers_pace.c): this is less,
 * places being spread evenly. */
#define TOLERANCE 8

#define TRACE_NS 150000ULL     /* of a fast trace, at least: three moments */
#define ROOM_MOST (8ULL << 20) /* bytes of trace */
#define PERIOD_LEAST_NS 50000  /* of a long trace */
#define PERIOD_SPAN_NS 40000
#define BYTES_TO_LEARN (64 << 10) /* of a trace, at least */
#define OWN_LEAST_NS 30000        /* of a period: what looking costs is known to some five microseconds */
#define LATE_NS 10000 /* own time in the first period, but for one cost, is so much less than a period */

uint64_t pace_room(const struct pace_clock *clock, uint64_t trace_bytes)
{
    uint64_t wanted = clock->fast_ns_64k ? (TRACE_NS << 16) / clock->fast_ns_64k : 0;
    wanted = wanted < ROOM_MOST ? wanted : ROOM_MOST;
    return wanted > trace_bytes ? wanted : trace_bytes;
}

/* The last moment falls somewhere into the second half of what the trace takes, when the thread runs it as
 * fast as it does its fast parts. Else those would be over too soon, and only slow ones timed. */
uint32_t pace_period(const struct pace_clock *clock, uint64_t trace_bytes, uint32_t moments, uint64_t random)
{
    uint32_t most = PERIOD_LEAST_NS + (uint32_t)(random & 0xffff) * PERIOD_SPAN_NS / 0x10000;
    uint32_t least = clock->cost_ns + OWN_LEAST_NS;
    uint64_t fast_ns = trace_bytes * clock->fast_ns_64k >> 16;
    uint64_t last_ns = fast_ns / 2 + (fast_ns / 2) * (random >> 16 & 0xffff) / 0x10000;
    uint64_t period = (last_ns + (moments - 1) * clock->cost_ns + LATE_NS) / moments;
    if (!clock->fast_ns_64k || period > most)
        return most;
    return period < least ? least : (uint32_t)period;
}

/* Time from one moment to another that the thread spent in its own code. A moment that fell due in the kernel
 * was not taken: each that is missing stands for a period there, as each that was taken does for one here. */
static uint64_t own_ns(const struct pace_clock *clock, uint64_t all, uint64_t taken)
{
    uint64_t due = (all + clock->period_ns / 2) / clock->period_ns;
    uint64_t off = (due > taken ? (due - taken) * clock->period_ns : 0) + taken * clock->cost_ns;
    return all > off ? all - off : 0;
}

/* Quickly towards faster code, slowly back. */
static void learn(struct pace_clock *clock, uint64_t ns_64k)
{
    uint64_t fast = clock->fast_ns_64k;
    if (!fast)
        clock->fast_ns_64k = ns_64k;
    else
        clock->fast_ns_64k = ns_64k < fast ? fast - (fast - ns_64k) / 4 : fast + (ns_64k - fast) / 16;
}

/* From a burst's stretches; the first tells only that the thread is not slower, as does a trace that was over
 * at the first moment. */
void pace_learn(struct pace_clock *clock, const struct cs_burst_outcome *outcome, uint64_t trace_bytes,
                uint64_t trace_instructions, uint64_t first_ns)
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
        ns = own_ns(clock, first_ns, 1);
        instructions = trace_instructions;
    }
    uint64_t ns_64k = instructions ? (ns * trace_instructions / instructions << 16) / trace_bytes : 0;
    if (ns_64k && (!bound || ns_64k < clock->fast_ns_64k || !clock->fast_ns_64k))
        learn(clock, ns_64k);
}

static uint64_t middle(const struct moment *moment)
{
    return (moment->first + moment->last) / 2;
}

/* Is the number of instructions from one moment to the other known well enough? */
static bool far_apart(const struct moment *from, const struct moment *to)
{
    uint64_t off = (from->last - from->first + to->last - to->first) / 2;
    return middle(to) > middle(from) && off * TOLERANCE <= middle(to) - middle(from);
}

/* The longest run of moments whose place is known, in order. Past the trace's end, or where the thread went
 * another way (other threads, signals, clocks), a moment has no place, and what comes later has one by chance
 * at most. */
void stretches(struct cs_burst_outcome *outcome, const struct run *run, const struct moment *moments,
               unsigned n, const struct pace_clock *clock)
{
    static const struct moment release; /* moment -1: at the trace's beginning */
    const struct moment *last = &release;
    unsigned of_last = 0; /* 1 + its number */
    for (unsigned i = 0; i < n; i++) {
        const struct moment *moment = &moments[i];
        if (!moment->n) {
            outcome->pace_beyond += n - i;
            break;
        }
        if (!far_apart(last, moment)) {
            outcome->pace_ambiguous++;
            continue;
        }
        outcome->pace_matched++;
        uint64_t ns = own_ns(clock, moment->time_ns - last->time_ns, i + 1 - of_last);
        if (ns && outcome->n_paces < CS_BURST_PACES_MAX)
            outcome->pace[outcome->n_paces++] = (struct cs_burst_pace){
                .place = busiest_branch(run, middle(last), middle(moment)),
                .after_ns = (uint32_t)last->time_ns,
                .ns = (uint32_t)ns,
                .instructions = middle(moment) - middle(last),
            };
        last = moment;
        of_last = i + 1;
    }
}
