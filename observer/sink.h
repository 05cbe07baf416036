/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the loop does with a sample: judge the interval that it ends, and add it to aggregates. The same
 * inline code is specialised into each loop variant and used, with a shape known at run time, to replay a
 * log.
 *
 *  - Shares (samples, cycles of a tag) use every interval but gaps: a tag is right however long its reading
 * took. An interval gives half of its cycles to the tag at each end, so that a tag that makes reading slower
 * (its line is written more often) is not under-counted, as it would be by counting samples.
 *  - Rates use kept intervals alone (dte/). A tag's distribution of rates uses those that have it at both
 * ends; its mean uses the edges too (cs_tag_mean). With rule.same_tag off it is the paper's attribution: all
 * to the tag read with the sample that starts the interval.
 *
 * One writer. Nothing is allocated after cs_sink_open. shim-2015 sections 3, 4.1, 6.3. */
#ifndef CS_OBSERVER_SINK_H
#define CS_OBSERVER_SINK_H

#include "dte/bins.h"
#include "dte/dte.h"
#include "observer/sample.h"
#include "observer/tags.h"
#include "store/error.h"

struct cs_joint {                             /* intervals whose rate of counter 0 falls in one bin */
    uint64_t cycles, events[CS_COUNTERS_MAX]; /* of each counter in those cycles */
};

struct cs_sink {
    struct cs_dte_rule rule; /* same_tag: see above */
    unsigned n_tags, n_counters;
    struct cs_tags *tags[CS_TAGS_MAX];
    struct cs_tag_row *current[CS_TAGS_MAX]; /* rows of the last sample's tags */
    struct cs_tag_row whole_run;             /* kept intervals whatever the tag */
    uint64_t samples, first, last;           /* clock of the first and the last sample */
    uint64_t unseen_cycles, longest_gap;
    struct cs_dte_tally tally;
    uint64_t periods[CS_CYCLE_BINS]; /* start to start */
    uint64_t gaps[CS_CYCLE_BINS];    /* end to next start */
    uint64_t rates[CS_COUNTERS_MAX][CS_RATE_BINS];
    struct cs_joint joint[CS_RATE_BINS];
    size_t bytes; /* of this mapping */
};

/* Allocates everything in one mapping, touches it, and locks it where permitted. */
int cs_sink_open(unsigned n_tags, unsigned n_counters, const struct cs_dte_rule *rule, struct cs_sink **out,
                 struct cs_error *err);
void cs_sink_close(struct cs_sink *sink);

#define CS_INLINE static inline __attribute__((always_inline))

/* The first sample, and the first after a gap that the log marks: no interval ends with it. */
CS_INLINE void cs_sink_first(struct cs_sink *s, unsigned n_tags, const struct cs_sample *to)
{
    if (s->samples++ == 0)
        s->first = to->start;
    s->last = to->end;
    for (unsigned t = 0; t < n_tags; t++) {
        s->current[t] = cs_tags_find(s->tags[t], to->tags[t]);
        s->current[t]->samples++;
        s->current[t]->visits++;
    }
}

CS_INLINE void cs_row_add(struct cs_tag_row *row, unsigned n_counters, const uint64_t *deltas,
                          const double *squares, uint64_t cycles)
{
    row->kept++;
    row->kept_cycles += cycles;
#pragma GCC unroll 4
    for (unsigned c = 0; c < n_counters; c++) {
        row->events[c] += deltas[c];
        row->squares[c] += squares[c];
    }
}

CS_INLINE void cs_sink_rates(struct cs_sink *s, unsigned n_tags, unsigned n_counters, const uint64_t *deltas,
                             uint64_t cycles, const bool *into_tag)
{
    double squares[CS_COUNTERS_MAX] = {0}, length = (double)(int64_t)cycles, inverse = 1 / length;
    unsigned bins[CS_COUNTERS_MAX] = {0};
#pragma GCC unroll 4
    for (unsigned c = 0; c < n_counters; c++) {
        double events = (double)(int64_t)deltas[c], rate = events * inverse;
        squares[c] = events * rate;
        bins[c] = cs_rate_bin(rate);
        s->rates[c][bins[c]]++;
    }
    if (n_counters > 1) {
        struct cs_joint *joint = &s->joint[bins[0]];
        joint->cycles += cycles;
#pragma GCC unroll 4
        for (unsigned c = 0; c < n_counters; c++)
            joint->events[c] += deltas[c];
    }
    cs_row_add(&s->whole_run, n_counters, deltas, squares, cycles);
#pragma GCC unroll 2
    for (unsigned t = 0; t < n_tags; t++) {
        if (!into_tag[t])
            continue;
        struct cs_tag_row *row = s->current[t];
        cs_row_add(row, n_counters, deltas, squares, cycles);
        if (row->bins)
#pragma GCC unroll 4
            for (unsigned c = 0; c < n_counters; c++)
                row->bins[c * CS_RATE_BINS + bins[c]]++;
    }
}

/* An interval that begins under one tag and ends under another. */
CS_INLINE void cs_sink_edge(struct cs_tag_row *row, const struct cs_tag_row *next, unsigned n_counters,
                            const uint64_t *deltas, uint64_t cycles)
{
    double half = (double)(int64_t)cycles / 2;
    if (next->kept == 0) /* nothing is known of its rate yet */
        return;
    row->edge_cycles += half;
#pragma GCC unroll 4
    for (unsigned c = 0; c < n_counters; c++) {
        row->edge_events[c] += (double)(int64_t)deltas[c];
        row->edge_others[c] += (double)next->events[c] / (double)next->kept_cycles * half;
    }
}

static inline void cs_sink_disturbed(struct cs_sink *s, unsigned n_tags, unsigned n_counters,
                                     const uint64_t *deltas, uint64_t cycles, const bool *into_tag)
{
    for (unsigned t = 0; t < n_tags; t++) {
        if (!into_tag[t])
            continue;
        s->current[t]->edge_cycles += (double)(int64_t)cycles;
        for (unsigned c = 0; c < n_counters; c++)
            s->current[t]->edge_events[c] += (double)(int64_t)deltas[c];
    }
}

/* The interval between two consecutive samples; returns its verdict. */
CS_INLINE enum cs_dte_verdict cs_sink_add(struct cs_sink *s, unsigned n_tags, unsigned n_softs,
                                          unsigned n_pmcs, bool follow, const struct cs_sample *from,
                                          const struct cs_sample *to)
{
    const unsigned n_counters = n_softs + n_pmcs;
    uint64_t starts = to->start - from->start, ends = to->end - from->end, gap = to->start - from->end;
    s->samples++;
    s->last = to->end;
    s->periods[cs_cycle_bin(starts)]++;
    s->gaps[cs_cycle_bin(gap)]++;

    struct cs_dte_rule rule = {s->rule.band_q32, s->rule.slow_cycles, s->rule.gap_cycles, follow, false};
    struct cs_dte_reading a = {from->start, from->end, from->who, 0, from->whole, follow && from->away};
    struct cs_dte_reading b = {to->start, to->end, to->who, 0, to->whole, follow && to->away};
    enum cs_dte_verdict verdict = cs_dte_judge(&rule, &a, &b);

    uint64_t deltas[CS_COUNTERS_MAX] = {0}, backwards = 0;
#pragma GCC unroll 4
    for (unsigned c = 0; c < n_counters; c++) {
        deltas[c] = to->counters[c] - from->counters[c];
        backwards |= deltas[c];
    }
    if (verdict == CS_DTE_KEPT && (int64_t)backwards < 0)
        verdict = CS_DTE_WRAPPED;

    bool into_tag[CS_TAGS_MAX] = {0}, any_tag = !s->rule.same_tag;
#pragma GCC unroll 2
    for (unsigned t = 0; t < n_tags; t++)
        into_tag[t] = (from->tags[t] == to->tags[t]) | any_tag;
    bool usable = verdict == CS_DTE_KEPT;
    if (usable) {
        if (n_counters)
            /* A value in memory is of the moment at which its line arrived: just before the second clock. */
            cs_sink_rates(s, n_tags, n_counters, deltas, n_pmcs ? starts : ends, into_tag);
        if (n_tags && n_counters && !into_tag[0])
            verdict = CS_DTE_TAG;
    }
    cs_dte_count(&s->tally, verdict, starts);
    /* Memory: a disturbed reading blurs one interval's rate, but the events of neighbours add up: means keep
     * it. */
    if (__builtin_expect(n_counters && verdict == CS_DTE_SKEW && s->rule.band_q32 == CS_DTE_NO_BAND, 0))
        cs_sink_disturbed(s, n_tags, n_counters, deltas, ends, into_tag);

    uint64_t seen = ends;
    if (__builtin_expect(verdict >= CS_DTE_GAP, 0)) {
        seen = 0;
        s->unseen_cycles += starts;
        s->longest_gap = gap > s->longest_gap ? gap : s->longest_gap;
    }
#pragma GCC unroll 2
    for (unsigned t = 0; t < n_tags; t++) {
        struct cs_tag_row *row = s->current[t];
        row->half_cycles += seen;
        if (from->tags[t] != to->tags[t]) {
            struct cs_tag_row *left = row;
            row = cs_tags_find(s->tags[t], to->tags[t]);
            row->visits++;
            if (n_counters && (usable || (verdict == CS_DTE_SKEW && s->rule.band_q32 == CS_DTE_NO_BAND)) &&
                !any_tag)
                cs_sink_edge(left, row, n_counters, deltas, n_pmcs ? starts : ends);
            s->current[t] = row;
        }
        row->half_cycles += seen;
        row->samples++;
    }
    return verdict;
}

#endif
