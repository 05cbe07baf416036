/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of a function's time goes with a cause. The likely gain is the time of the cause anywhere in the function, less
 * what takes its place.
 *
 * What stays is faster without the cause, too: misses overlap, stores drain, branches are known earlier. But it takes no
 * less than the same instructions at the core's full width, or of busy ports a quarter of that. So the most is on the way
 * from the upper bound of the cause to all but that work. The least is on the way from only the worst place, halfway down to
 * its lower bound, to nothing. How far on these ways 19 of 20 measured savings are was taken from kernels of earlier authors,
 * and judged on a later one's (split conformal prediction; docs/lab/culprits.md). */
#include "cli/procedure/calc.h"

#include <assert.h>
#include <math.h>

#define CHAINS 4         /* in place of one */
#define LEAST 0.65       /* of the worst place; 2 of 66 savings were less */
#define LINE_LEAST 0.667 /* of the lower bound of a shared line, whose share is a weight, not a figure */
#define SPLIT_STAYS 0.4  /* of two accesses */
#define VECTOR 4         /* operations in one instruction, which is work once */
#define BEYOND_MOST 0.75 /* of the way to the work alone; one saving of 73 was more */

/* What takes the place of a cause, as a share of its time. Misses, mispredictions and full store buffers leave nothing. */
static double replaced_by(const struct worst_cause *c)
{
    switch (c->cause) {
    case CS_CAUSE_DCACHE: /* halfway from denser data, which leave nothing, to a prefetch, which still fetches */
        if (c->conflicts && c->overlaps) /* padding it is: lines are fetched once, not each time */
            return 0.1;
        return c->overlaps ? 0.25 : 0;
    case CS_CAUSE_DTLB:
    case CS_CAUSE_MISPREDICT:
    case CS_CAUSE_STORE_BUFFER:
        return 0;
    case CS_CAUSE_DEPENDENCY:
        return 1.0 / CHAINS;
    case CS_CAUSE_ICACHE:
        return 0.35;
    case CS_CAUSE_FRONT:
    case CS_CAUSE_SYSCALL:
        return 0.5;
    default: /* a multiplication for a division, a plain store for a locked one */
        return 0.1;
    }
}

/* One access stays in place of two. What a split costs beyond two, as across pages or with a lock, goes. */
static double split_goes(const struct cs_cycle_account_summary *s)
{
    const double all = s->share[CS_CAUSE_SPLIT];
    return 1 - (all > 0 ? SPLIT_STAYS * s->split_accesses / all : 0);
}

struct cause_gain cause_gain(const struct worst_cause *c, const struct cs_cycle_account *a)
{
    const struct cs_cycle_account_summary *s = &a->summary;
    if (c->cause >= CS_N_CAUSES || s->total <= 0)
        return (struct cause_gain){0, 0, 0};
    const double goes = c->cause == CS_CAUSE_SPLIT ? split_goes(s) : 1 - replaced_by(c);
    const double low = fmin(c->low, c->share);
    double all = s->share[c->cause] + s->statics[c->cause], most = s->high[c->cause] + s->statics[c->cause];
    if (c->cause == CS_CAUSE_DCACHE) /* denser data are on fewer pages, too */
        all += s->share[CS_CAUSE_DTLB];
    if (c->cause == CS_CAUSE_DCACHE || c->cause == CS_CAUSE_DTLB)
        most = fmax(most, s->memory_high);
    all = fmin(fmax(all / s->total, c->share), 1);
    most = fmin(fmax(most / s->total, fmax(all, c->high)), 1);
    const double work = s->execution / s->total / (c->cause == CS_CAUSE_PORT ? VECTOR : 1);
    most += BEYOND_MOST * fmax(1 - work - most, 0);
    /* The chain's stall is gone, if it is no more than three of the four take. */
    const double likely = c->cause == CS_CAUSE_DEPENDENCY ? fmin(all, goes) : all * goes;
    const double least = cause_is_shared_line(c) ? LINE_LEAST * low : LEAST * (low + c->share) / 2;
    assert(likely >= 0 && likely <= most);
    return (struct cause_gain){likely, fmin(least * goes, likely), most};
}
