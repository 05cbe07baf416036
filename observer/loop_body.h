/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Body of all loop variants; included by loop_*.c alone, which expand it with constant shapes. Budget a
 * sample in TSC cycles, Zen 3: one rdtscp (about 40) at each end and before each counter, the loads, 20 for
 * aggregation. */
#ifndef CS_OBSERVER_LOOP_BODY_H
#define CS_OBSERVER_LOOP_BODY_H

#include "observer/clock.h"
#include "observer/follow.h"
#include "observer/log.h"
#include "observer/loop.h"
#include "observer/throttle.h"

CS_INLINE void cs_take(struct cs_loop *l, unsigned n_tags, unsigned n_softs, unsigned n_pmcs, bool follow,
                       struct cs_sample *to)
{
    for (;;) {
        to->whole = true;
        to->start = cs_clock_ordered();
#pragma GCC unroll 4
        for (unsigned c = 0; c < n_softs; c++) {
            cs_clock_ordered();
            to->counters[c] = *l->softs[c];
        }
#pragma GCC unroll 4
        for (unsigned c = 0; c < n_pmcs; c++) {
            cs_clock_ordered();
            to->counters[n_softs + c] = cs_pmc_read(&l->pmcs[c], &to->whole);
        }
        /* With no counter there is nothing between the two clocks: one reading is both. */
        to->end = n_softs + n_pmcs ? cs_clock_ordered() : to->start;
        if (follow) {
            uint64_t who = *l->who;
            if (__builtin_expect(who != to->who, 0)) {
                /* What was read belongs to the thread that left: take the sample again from its line. */
                to->who = who;
                to->away = cs_follow_switch(l, who);
                continue;
            }
        }
#pragma GCC unroll 2
        for (unsigned t = 0; t < n_tags; t++)
            to->tags[t] = *l->tags[t];
        return;
    }
}

/* An interval is added to the sums one sample late: nothing in that work then waits for the clock just read,
 * and it is done in the shadow of the last clock reading (measured: 25 cycles a sample less). */
CS_INLINE void cs_loop_body(struct cs_loop *l, unsigned n_tags, unsigned n_softs, unsigned n_pmcs,
                            bool follow, bool throttled, enum cs_sink_kind kind)
{
    struct cs_sample before = {0}, from = {0}, to = {0};
    struct cs_sink *sink = l->sink;
    cs_take(l, n_tags, n_softs, n_pmcs, follow, &from);
    if (kind == CS_SINK_LOG)
        cs_log_add(l->log, n_tags, n_softs + n_pmcs, follow, &from);
    else
        cs_sink_first(sink, n_tags, &from);
    to = before = from;
    cs_take(l, n_tags, n_softs, n_pmcs, follow, &to);
    if (kind == CS_SINK_LOG)
        cs_log_add(l->log, n_tags, n_softs + n_pmcs, follow, &to);
    from = to;
    while (!__atomic_load_n(&l->stop, __ATOMIC_RELAXED)) {
        if (throttled)
            cs_throttle(l, from.start);
        cs_take(l, n_tags, n_softs, n_pmcs, follow, &to);
        if (kind == CS_SINK_LOG)
            cs_log_add(l->log, n_tags, n_softs + n_pmcs, follow, &to);
        else
            cs_sink_add(sink, n_tags, n_softs, n_pmcs, follow, &before, &from);
        before = from;
        from = to;
    }
    /* The last interval is never added: it holds the end of the run. */
}

#endif
