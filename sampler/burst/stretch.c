/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From moments whose place in the trace is known to stretches: pairs of time and instructions. Pure. */
#include "sampler/burst/runner.h"
#include "sampler/burst/sys.h"

/* The middle of a moment's places counts as its place while a stretch's ends, together, may be off by one
 * part in so many of it. One burst times a place to 10 % at best (analysis/transfers_pace.c): this is less,
 * places being spread evenly. */
#define TOLERANCE 8

/* Time from one moment to another that the thread spent in its own code. A moment that fell due in the kernel
 * was not taken: each that is missing stands for a period there, as each that was taken does for one here. */
static uint64_t own_ns(const struct pace_clock *clock, uint64_t all, uint64_t taken)
{
    uint64_t due = (all + clock->period_ns / 2) / clock->period_ns;
    uint64_t off = (due > taken ? (due - taken) * clock->period_ns : 0) + taken * clock->cost_ns;
    return all > off ? all - off : 0;
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
