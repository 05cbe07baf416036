/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the loop does with a sample: judge the interval that it ends, and add it to aggregates. The same
 * inline code is specialised into each loop variant and used, with a shape known at run time, to replay a
 * log.
 *
 *  - Shares (samples, cycles of a tag) use every interval but gaps: a tag is right however long its reading
 * took. An interval gives half of its cycles to the tag at each end. So a tag that makes reading slower (its
 * line is written more often) is not under-counted, as it would be by counting samples.
 *  - Rates use kept intervals alone (dte/). A tag's distribution of rates uses those that have it at both
 * ends; its mean uses the edges too (cs_tag_mean). With rule.same_tag off it is the paper's attribution: all
 * to the tag read with the sample that starts the interval.
 *
 * One writer. Nothing is allocated after cs_sink_open. shim-2015 sections 3, 4.1, 6.3. */
#pragma once

#include "dte/bins.h"
#include "dte/dte.h"
#include "observer/sample/sample.h"
#include "observer/sample/tags.h"
#include "store/base/error.h"

struct cs_joint {                             /* intervals whose rate of counter 0 falls in one bin */
    uint64_t cycles, events[CS_COUNTERS_MAX]; /* of each counter in those cycles */
};

struct cs_sink {
    struct cs_dte_rule rule; /* same_tag: see above */
    uint64_t probe_longest;  /* cycles of a short period; 0: there are none */
    uint64_t edge_longest;   /* cycles; in a longer interval the tag may have changed more than once */
    unsigned n_tags, n_counters, n_ratios;
    struct cs_ratio ratios[CS_RATIOS_MAX];
    struct cs_tags *tags[CS_TAGS_MAX];
    struct cs_tag_row *current[CS_TAGS_MAX]; /* rows of the last sample's tags */
    struct cs_tag_row between;               /* kept intervals that are no row's of the first tag */
    uint64_t samples, first, last;           /* clock of the first and the last sample */
    uint64_t unseen_cycles, longest_gap;
    struct cs_dte_tally tally;
    uint64_t periods[CS_DTE_CYCLE_BINS]; /* start to start */
    uint64_t gaps[CS_DTE_CYCLE_BINS];    /* end to next start */
    uint64_t
        apart[CS_SERIES_MAX * CS_DTE_RATE_BINS]; /* kept intervals by rate that are in no row's histogram */
    struct cs_joint joint[CS_DTE_RATE_BINS];
    size_t bytes; /* of this mapping */
    /* Sums over all rows: cs_sink_total makes them. */
    struct cs_tag_row whole_run; /* kept intervals whatever the tag */
    uint64_t rates[CS_SERIES_MAX][CS_DTE_RATE_BINS];
};

/* Allocates everything in one mapping, touches it, and locks it where permitted. Distributions of ratios are kept, too. */
int cs_sink_open(unsigned n_tags, unsigned n_counters, const struct cs_ratio *ratios, unsigned n_ratios,
                 const struct cs_dte_rule *rule, struct cs_sink **out, struct cs_error *err);
void cs_sink_close(struct cs_sink *sink);
/* Brings whole_run and rates up to date; for after the last sample. */
void cs_sink_total(struct cs_sink *sink);

/* Series are counters, then ratios. */
static inline unsigned cs_sink_series(const struct cs_sink *s)
{
    return s->n_counters + s->n_ratios;
}
/* Over the intervals with the tag at both ends; the mean uses the edges, too. */
static inline struct cs_dte_moments cs_sink_rate(const struct cs_sink *s, const struct cs_tag_row *row,
                                                 unsigned series)
{
    return series < s->n_counters ? cs_tag_rate(row, series)
                                  : cs_tag_ratio(row, &s->ratios[series - s->n_counters], series);
}
static inline double cs_sink_mean(const struct cs_sink *s, const struct cs_tag_row *row, unsigned series)
{
    return series < s->n_counters ? cs_tag_mean(row, series)
                                  : cs_tag_ratio_mean(row, &s->ratios[series - s->n_counters]);
}

#define CS_INLINE static inline __attribute__((always_inline))

/* `period_cycles` is the usual one, 0 = as fast as it goes. */
static inline void cs_sink_period(struct cs_sink *s, uint64_t period_cycles, double cycles_per_second)
{
    s->probe_longest = period_cycles / CS_PROBE_PART;
    s->edge_longest = 4 * period_cycles + (uint64_t)(cycles_per_second * 2e-6);
}

/* The first sample, and the first after a gap that the log marks: no interval ends with it. */
CS_INLINE void cs_sink_first(struct cs_sink *s, unsigned n_tags, const struct cs_sample *to)
{
    if (s->samples++ == 0)
        s->first = to->start;
    s->last = to->end;
    for (unsigned t = 0; t < n_tags; t++) {
        struct cs_tag_row *left = s->tags[t]->keep = s->current[t];
        s->current[t] = cs_tags_find(s->tags[t], to->tags[t]);
        s->current[t]->samples++;
        s->current[t]->visits += s->current[t] != left; /* a visit goes on where it has the same value */
    }
}

/* An interval on its way into the sums, in three steps, so that a loop can do each in the shadow of another
 * clock reading: cs_sink_interval_begin, cs_sink_interval_counter for each counter, cs_sink_interval_end. */
struct cs_sink_interval {
    uint64_t starts, cycles, seen; /* cycles: what rates are by; seen: what shares are by */
    uint64_t deltas[CS_COUNTERS_MAX];
    double length, inverse;
    enum cs_dte_verdict verdict;
    bool usable, changed[CS_TAGS_MAX];
    struct cs_tag_row *into; /* first tag's row, or `between` */
    uint64_t *bins;
    struct cs_joint *joint;
};

/* Judges it, by the sink's rule or a copy of it (which a loop keeps beside its registers; gap_cycles at most
 * CS_DTE_CYCLES_MAX). */
CS_INLINE void cs_sink_interval_begin(struct cs_sink *s, const struct cs_dte_rule *by, unsigned n_tags,
                                      unsigned n_software, unsigned n_hardware, bool follow,
                                      const struct cs_sample *from, const struct cs_sample *to,
                                      struct cs_sink_interval *i)
{
    const unsigned n_counters = n_software + n_hardware;
    uint64_t starts = to->start - from->start, ends = to->end - from->end, gap = to->start - from->end;
    s->samples++;
    s->last = to->end;
    s->periods[cs_dte_cycle_bin(starts)]++;
    s->gaps[cs_dte_cycle_bin(gap)]++;

    struct cs_dte_rule rule = {by->band_q32, by->slow_cycles, by->gap_cycles, follow, false};
    struct cs_dte_reading a = {from->start, from->end,      from->thread_id,
                               0,           from->complete, follow && from->descheduled};
    struct cs_dte_reading b = {to->start, to->end, to->thread_id, 0, to->complete, follow && to->descheduled};
    enum cs_dte_verdict verdict = cs_dte_judge(&rule, &a, &b);

    uint64_t backwards = 0;
#pragma GCC unroll 4
    for (unsigned c = 0; c < n_counters; c++) {
        i->deltas[c] = to->counters[c] - from->counters[c];
        backwards |= i->deltas[c];
    }
    if (__builtin_expect(verdict == CS_DTE_KEPT && (int64_t)backwards < 0, 0))
        verdict = CS_DTE_WRAPPED;
    i->verdict = verdict;
    i->usable = n_counters && verdict == CS_DTE_KEPT;
    i->starts = starts;
    i->seen = ends;
    /* A value in memory is as old when its line arrives, just before the second clock, however long that
     * took: by ends 9 to 26 % of intervals hold another number of events than the target's own log, by
     * middles 13 to 40. */
    i->cycles = n_hardware ? starts : ends;
    i->length = (double)(int64_t)i->cycles;
    i->inverse = 1 / i->length;
#pragma GCC unroll 2
    for (unsigned t = 0; t < n_tags; t++)
        i->changed[t] = from->tags[t] != to->tags[t];
    i->into = n_tags && (!i->changed[0] || !by->same_tag) ? s->current[0] : &s->between;
    i->bins = n_counters && i->into->bins ? i->into->bins : s->apart;
    if (i->usable) {
        i->into->kept++;
        i->into->kept_cycles += i->cycles;
    }
    i->joint = s->joint;
}

/* Counters in ascending order. */
CS_INLINE void cs_sink_interval_counter(struct cs_sink *s, unsigned n_tags, unsigned n_counters, unsigned c,
                                        struct cs_sink_interval *i)
{
    if (!i->usable)
        return;
    double events = (double)(int64_t)i->deltas[c], rate = events * i->inverse, square = events * rate;
    unsigned bin = cs_dte_rate_bin(rate);
    i->into->events[c] += i->deltas[c];
    i->into->squares[c] += square;
    i->bins[c * CS_DTE_RATE_BINS + bin]++;
    if (n_counters > 1) {
        if (c == 0) {
            i->joint = &s->joint[bin];
            i->joint->cycles += i->cycles;
        }
        i->joint->events[c] += i->deltas[c];
    }
#pragma GCC unroll 2
    for (unsigned t = 1; t < n_tags; t++) {
        if (i->changed[t] && s->rule.same_tag)
            continue;
        struct cs_tag_row *row = s->current[t];
        row->kept += c == 0;
        row->kept_cycles += c == 0 ? i->cycles : 0;
        row->events[c] += i->deltas[c];
        row->squares[c] += square;
        if (row->bins)
            row->bins[c * CS_DTE_RATE_BINS + bin]++;
    }
}

/* A usable interval's ratios. A call: where there are any, counters are read, which takes longer. */
void cs_sink_interval_ratios(struct cs_sink *s, const struct cs_sink_interval *i);

/* For loops with a period: before an interval is added, is it a short one? */
__attribute__((cold)) void cs_sink_short_period(struct cs_sink *s, uint64_t starts, unsigned changed);
CS_INLINE void cs_sink_probe(struct cs_sink *s, unsigned n_tags, const struct cs_sample *from,
                             const struct cs_sample *to)
{
    const uint64_t starts = to->start - from->start;
    unsigned changed = 0;
    if (__builtin_expect(starts > s->probe_longest, 1) || (from->descheduled && to->descheduled))
        return;
    for (unsigned t = 0; t < n_tags; t++)
        changed |= (unsigned)(from->tags[t] != to->tags[t]) << t;
    cs_sink_short_period(s, starts, changed);
}

/* An interval that begins under one tag and ends under another. */
CS_INLINE void cs_sink_interval_edge(struct cs_tag_row *row, struct cs_tag_row *next, unsigned n_counters,
                                     const struct cs_sink_interval *i)
{
    double half = i->length / 2;
    if (next->kept == 0) /* nothing is known of its rate yet */
        return;
    if (__builtin_expect(next->kept >= next->mean_due, 0)) /* no division for each */
        cs_tags_mean_now(next, n_counters);
    row->exits++;
    row->exit_cycles += half;
    next->entry_cycles += half;
#pragma GCC unroll 4
    for (unsigned c = 0; c < n_counters; c++) {
        row->exit_events[c] += (double)(int64_t)i->deltas[c];
        row->exit_others[c] += next->mean[c] * half;
        row->exit_lacks[c] += next->lack[c] * half;
    }
}

/* Memory: a disturbed reading blurs one interval's rate, but the events of neighbours add up: means keep it.
 */
static inline void cs_sink_interval_disturbed(struct cs_sink *s, unsigned n_tags, unsigned n_counters,
                                              const struct cs_sink_interval *i)
{
    for (unsigned t = 0; t < n_tags; t++) {
        if (i->changed[t] && s->rule.same_tag)
            continue;
        s->current[t]->blurred_cycles += i->length;
        for (unsigned c = 0; c < n_counters; c++)
            s->current[t]->blurred_events[c] += (double)(int64_t)i->deltas[c];
    }
}

/* Tags and shares; returns the verdict. */
CS_INLINE enum cs_dte_verdict cs_sink_interval_end(struct cs_sink *s, unsigned n_tags, unsigned n_counters,
                                                   const struct cs_sample *from, const struct cs_sample *to,
                                                   struct cs_sink_interval *i)
{
    enum cs_dte_verdict verdict = i->verdict;
    if (__builtin_expect(s->n_ratios != 0, 0) && n_counters > 1 && i->usable)
        cs_sink_interval_ratios(s, i);
    if (n_tags && i->usable && i->changed[0] && s->rule.same_tag)
        verdict = CS_DTE_TAG;
    cs_dte_count(&s->tally, verdict, i->starts);
    bool blurred = n_counters && verdict == CS_DTE_SKEW && s->rule.band_q32 == CS_DTE_NO_BAND;
    if (__builtin_expect(blurred, 0))
        cs_sink_interval_disturbed(s, n_tags, n_counters, i);
    uint64_t seen = i->seen;
    if (__builtin_expect(verdict >= CS_DTE_GAP, 0)) {
        uint64_t gap = to->start - from->end;
        seen = 0;
        s->unseen_cycles += i->starts;
        s->longest_gap = gap > s->longest_gap ? gap : s->longest_gap;
    }
#pragma GCC unroll 2
    for (unsigned t = 0; t < n_tags; t++) {
        struct cs_tag_row *row = s->current[t];
        if (i->changed[t]) {
            struct cs_tag_row *left = s->tags[t]->keep = row;
            row = cs_tags_near(s->tags[t], to->tags[t]);
            row->visits++;
            left->half_cycles += seen;
            row->half_cycles += seen;
            if (n_counters && i->usable && s->rule.same_tag && i->cycles <= s->edge_longest)
                cs_sink_interval_edge(left, row, n_counters, i);
            s->current[t] = row;
        } else {
            row->half_cycles += 2 * seen;
        }
        row->samples++;
    }
    return verdict;
}

/* The interval between two consecutive samples; returns its verdict. `by`: as in cs_sink_interval_begin. */
CS_INLINE enum cs_dte_verdict cs_sink_add_by(struct cs_sink *s, const struct cs_dte_rule *by, unsigned n_tags,
                                             unsigned n_software, unsigned n_hardware, bool follow,
                                             const struct cs_sample *from, const struct cs_sample *to)
{
    struct cs_sink_interval i;
    cs_sink_interval_begin(s, by, n_tags, n_software, n_hardware, follow, from, to, &i);
#pragma GCC unroll 4
    for (unsigned c = 0; c < n_software + n_hardware; c++)
        cs_sink_interval_counter(s, n_tags, n_software + n_hardware, c, &i);
    return cs_sink_interval_end(s, n_tags, n_software + n_hardware, from, to, &i);
}

CS_INLINE enum cs_dte_verdict cs_sink_add(struct cs_sink *s, unsigned n_tags, unsigned n_software,
                                          unsigned n_hardware, bool follow, const struct cs_sample *from,
                                          const struct cs_sample *to)
{
    return cs_sink_add_by(s, &s->rule, n_tags, n_software, n_hardware, follow, from, to);
}
