/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Body of all loop variants. Only variants.h includes it, and expands it with constant shapes. Budget a
 * sample in TSC cycles, Zen 3: one rdtscp (about 40) at each end and before each counter, the loads, 12 for
 * aggregation. */
#pragma once

#include "observer/log/log.h"
#include "observer/loop/follow.h"
#include "observer/loop/loop.h"
#include "observer/loop/throttle.h"
#include "observer/source/clock.h"

/* The rest of a sample that has to be taken again: another thread got the CPU. Never inside the fast path. */
static __attribute__((noinline, cold)) void cs_take_again(struct cs_loop *l, unsigned n_software,
                                                          unsigned n_hardware, struct cs_sample *to)
{
    uint64_t thread_id;
    while ((thread_id = *l->thread_id) != to->thread_id) {
        to->thread_id = thread_id;
        to->descheduled = cs_follow_switch(l, thread_id);
        to->complete = true;
        to->start = cs_clock_ordered();
        for (unsigned c = 0; c < n_software; c++) {
            cs_clock_ordered();
            to->counters[c] = *l->software[c];
        }
        for (unsigned c = 0; c < n_hardware; c++) {
            cs_clock_ordered();
            to->counters[n_software + c] = cs_pmc_read(&l->hardware[c], &to->complete);
        }
        to->end = n_software + n_hardware ? cs_clock_ordered() : to->start;
    }
}

/* What a variant keeps beside its registers: the asm of a clock reading makes the compiler load anything else
 * anew. */
struct cs_near {
    const volatile uint64_t *tags[CS_TAGS_MAX], *software[CS_COUNTERS_MAX];
    struct cs_sink *sink;
    struct cs_dte_rule rule;
};

CS_INLINE void cs_near_lines(struct cs_near *near, const struct cs_loop *l, unsigned n_tags,
                             unsigned n_software)
{
#pragma GCC unroll 2
    for (unsigned t = 0; t < n_tags; t++)
        near->tags[t] = l->tags[t];
#pragma GCC unroll 4
    for (unsigned c = 0; c < n_software; c++)
        near->software[c] = l->software[c];
}

/* Takes a sample, and adds the interval before the last one (from `from` to `till`) meanwhile: its judgement
 * in the shadow of the first clock, the rest behind the tag (where hardware counters are read it all stands
 * there: the time between the clocks must not depend on it).
 *
 * From the first counter to the tag there is nothing but clocks, each with its load as the next instruction.
 * The counters and the tag share a line, which the writer takes back some 60 cycles after it came here. A
 * load that comes ten cycles later than it could has to fetch it again: with a few instructions after the
 * last clock the tag did so in 94 % of the samples where a bare loop does in 32 %. So the tag is read before
 * it is known who runs: if that is who ran at the last sample, the tag is his. */
CS_INLINE void cs_take(struct cs_loop *l, struct cs_near *near, unsigned n_tags, unsigned n_software,
                       unsigned n_hardware, bool follow, bool add, const struct cs_sample *from,
                       const struct cs_sample *till, struct cs_sample *to)
{
    struct cs_sink *sink = near->sink;
    struct cs_sink_interval i;
    const unsigned n = n_software + n_hardware;
    const bool spread = add && n_software && !n_hardware;
    to->complete = true;
    to->start = cs_clock_ordered();
    if (spread)
        cs_sink_interval_begin(sink, &near->rule, n_tags, n_software, n_hardware, follow, from, till, &i);
#pragma GCC unroll 4
    for (unsigned c = 0; c < n_software; c++)
        cs_clock_then_load(near->software[c], &to->counters[c]);
#pragma GCC unroll 4
    for (unsigned c = 0; c < n_hardware; c++) {
        cs_clock_ordered();
        to->counters[n_software + c] = cs_pmc_read(&l->hardware[c], &to->complete);
    }
    /* With no counter there is nothing between the two clocks: one reading is both. */
    if (n && n_tags)
        to->end = cs_clock_then_load(near->tags[0], &to->tags[0]);
    else
        to->end = n ? cs_clock_ordered() : to->start;
#pragma GCC unroll 2
    for (unsigned t = n ? 1 : 0; t < n_tags; t++)
        to->tags[t] = *near->tags[t];
    if (follow && __builtin_expect(*l->thread_id != to->thread_id, 0)) {
        /* What was read belongs to the thread that left: take the sample again from its line. */
        cs_take_again(l, n_software, n_hardware, to);
        cs_near_lines(near, l, n_tags, n_software);
#pragma GCC unroll 2
        for (unsigned t = 0; t < n_tags; t++)
            to->tags[t] = *near->tags[t];
    }
    if (spread) {
#pragma GCC unroll 4
        for (unsigned c = 0; c < n_software; c++)
            cs_sink_interval_counter(sink, n_tags, n, c, &i);
        cs_sink_interval_end(sink, n_tags, n, from, till, &i);
    } else if (add) {
        cs_sink_add_by(sink, &near->rule, n_tags, n_software, n_hardware, follow, from, till);
    }
}

/* An interval is added to the sums one sample late: nothing in that work then waits for the clock just read.
 */
CS_INLINE void cs_loop_body(struct cs_loop *l, unsigned n_tags, unsigned n_software, unsigned n_hardware,
                            bool follow, bool throttled, enum cs_sink_kind kind)
{
    struct cs_sample before = {0}, from = {0}, to = {0};
    struct cs_sink *sink = l->sink;
    const bool log = kind == CS_SINK_LOG;
    struct cs_near near = {.sink = sink};
    cs_near_lines(&near, l, n_tags, n_software);
    if (!log) {
        near.rule = sink->rule;
        if (near.rule.gap_cycles > CS_DTE_CYCLES_MAX)
            near.rule.gap_cycles = CS_DTE_CYCLES_MAX;
    }
    cs_take(l, &near, n_tags, n_software, n_hardware, follow, false, NULL, NULL, &from);
    if (log)
        cs_observe_log_add(l->log, n_tags, n_software + n_hardware, follow, &from);
    else
        cs_sink_first(sink, n_tags, &from);
    to = before = from;
    cs_take(l, &near, n_tags, n_software, n_hardware, follow, false, NULL, NULL, &to);
    if (log)
        cs_observe_log_add(l->log, n_tags, n_software + n_hardware, follow, &to);
    from = to;
    while (!__atomic_load_n(&l->stop, __ATOMIC_RELAXED)) {
        if (__builtin_expect(throttled, 0)) {
            if (!log)
                cs_sink_probe(sink, n_tags, &before, &from);
            cs_throttle(l, from.start);
        }
        cs_take(l, &near, n_tags, n_software, n_hardware, follow, !log, &before, &from, &to);
        if (log)
            cs_observe_log_add(l->log, n_tags, n_software + n_hardware, follow, &to);
        before = from;
        from = to;
    }
    /* The last interval is never added: it holds the end of the run. */
}
