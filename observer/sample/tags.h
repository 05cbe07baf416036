/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was seen under each value of one tag: samples, cycles, rates. An open-addressing hash table of fixed
 * size, allocated, touched and locked before the first sample; the loop only ever adds.
 *
 * Invariant: each row's events and squares cover exactly its kept intervals. When the table is full, a new value takes
 * the row of one with little time. What that row held goes to the last row (`overflow`). This is space-saving (Metwally
 * 2005) with the least of a few rows in place of the least of all. A value of much time has a row, however late it comes,
 * and lacks at most `before` of it. One writer; readers wait until it has ended. Cost: a value equal to the last one needs no search; else a multiplication and, mostly, one probe.
 */
#pragma once

#include "dte/bins.h"
#include "dte/moments.h"
#include "observer/sample/ratio.h"
#include "observer/sample/sample.h"

#include <stddef.h>

struct cs_tag_row {
    uint64_t tag;
    uint64_t samples, visits; /* visits: times the tag was entered, as far as seen */
    uint64_t before;          /* half cycles that the value may have had without this row */
    uint64_t half_cycles;     /* twice the cycles: an interval gives half to the tag at each of its ends */
    uint64_t kept;            /* intervals that survived filtering, entirely this row's */
    uint64_t kept_cycles, events[CS_COUNTERS_MAX];
    double
        squares[CS_SERIES_MAX]; /* sum of events² / cycles: the rate's second moment, weighted by cycles; of a
                                   ratio of² / per */
    double blurred_cycles, blurred_events[CS_COUNTERS_MAX]; /* disturbed intervals: means alone use them */
    /* Edges: intervals that begin with this tag and end with another (exits) or the other way round
     * (entries). Half of their cycles; all of their events; what the next tag's half holds at its rate, and
     * by how much that is too much where an event comes together with the change (cs_tags_settle). */
    double exits, exit_cycles, entry_cycles;
    double exit_events[CS_COUNTERS_MAX], exit_others[CS_COUNTERS_MAX], exit_lacks[CS_COUNTERS_MAX];
    /* What the edges come to: cs_tags_settle makes it of the sums above, cs_tag_mean uses it. */
    double edge_cycles, edge_events[CS_COUNTERS_MAX], edge_others[CS_COUNTERS_MAX];
    /* Mean rates so far and the number of kept intervals at which to work them out anew. */
    double mean[CS_COUNTERS_MAX], lack[CS_COUNTERS_MAX];
    uint64_t mean_due;
    uint64_t probes, probe_changes,
        probe_cycles; /* short periods that began with it; those that ended elsewhere */
    uint64_t *bins;   /* [series][CS_DTE_RATE_BINS] kept intervals by rate; NULL for later rows */
};

#define CS_TAG_ROWS 16384     /* distinct values of a tag */
#define CS_TAG_SLOTS 32768    /* power of two, at most half full */
#define CS_TAG_HISTOGRAMS 512 /* rows that have a histogram a counter */

struct cs_tags {
    uint32_t slots[CS_TAG_SLOTS]; /* row + 1, 0 = free */
    uint32_t n_rows, n_counters, n_series;
    bool overflow;
    uint32_t hand;           /* the row that is looked at next for one to take */
    uint64_t most_lost;      /* the most half cycles that a value may lack */
    struct cs_tag_row *keep; /* never taken: the last sample's */
    struct cs_tag_row rows[CS_TAG_ROWS];
    uint64_t *bins; /* backing of the rows' histograms */
};

/* Bytes of a table for n series; its memory is the caller's, zeroed, 64-byte aligned. Series are counters, then ratios. */
size_t cs_tags_size(unsigned n_series);
void cs_tags_init(struct cs_tags *tags, unsigned n_counters, unsigned n_series);
/* The row of a value, made if new. Never NULL. */
struct cs_tag_row *cs_tags_find(struct cs_tags *tags, uint64_t tag);
static inline uint32_t cs_tags_slot(uint64_t tag)
{
    return (uint32_t)((tag * 0x9e3779b97f4a7c15ull) >> 49); /* 15 bits: CS_TAG_SLOTS */
}
/* The same for the loops: without a call where the first probe finds it. */
static inline struct cs_tag_row *cs_tags_near(struct cs_tags *tags, uint64_t tag)
{
    uint32_t row = tags->slots[cs_tags_slot(tag)];
    if (__builtin_expect(row != 0 && tags->rows[row - 1].tag == tag, 1))
        return &tags->rows[row - 1];
    return cs_tags_find(tags, tag);
}
/* Works out row->mean and row->lack; due again when there are an eighth more kept intervals. */
void cs_tags_mean_now(struct cs_tag_row *row, unsigned n_counters);
/* Divides the edges' events among the tags; for after the last sample, any number of times. */
void cs_tags_settle(struct cs_tags *tags);
/* Sum of all rows into one (its tag is 0, its bins are the caller's array or NULL). */
void cs_tags_total(const struct cs_tags *tags, struct cs_tag_row *total, uint64_t *bins);

/* Gives every row the value that `to` gives for it and joins rows that then have the same. For after the last
 * sample: rows move. A row without a histogram that takes the place of one with it stays without. */
void cs_tags_rename(struct cs_tags *tags, uint64_t (*to)(void *arg, uint64_t tag), void *arg);

/* Mean rate of a counter under the tag; edges have been settled. Intervals with the tag at both ends alone
 * would be biased: an event that comes together with the change of the tag (an iteration ends, and with it
 * the phase) lies in none of them. */
static inline double cs_tag_mean(const struct cs_tag_row *row, unsigned counter)
{
    double cycles = (double)row->kept_cycles + row->edge_cycles;
    double events = (double)row->events[counter] + row->edge_events[counter] - row->edge_others[counter];
    return cycles > 0 && events > 0 ? events / cycles : 0;
}

/* The same of one counter by another. */
static inline double cs_tag_ratio_mean(const struct cs_tag_row *row, const struct cs_ratio *ratio)
{
    double per = cs_tag_mean(row, ratio->per);
    return per > 0 ? cs_tag_mean(row, ratio->of) / per : 0;
}

/* Distribution of the rate over the intervals with the tag at both ends. */
static inline struct cs_dte_moments cs_tag_rate(const struct cs_tag_row *row, unsigned counter)
{
    double cycles = (double)row->kept_cycles, events = (double)row->events[counter];
    double mean = cycles > 0 ? events / cycles : 0, m2 = row->squares[counter] - mean * events;
    return (struct cs_dte_moments){cycles, mean, m2 > 0 ? m2 : 0};
}

/* Of a ratio, which is series `s`: weighted by what it is per. */
static inline struct cs_dte_moments cs_tag_ratio(const struct cs_tag_row *row, const struct cs_ratio *ratio,
                                                 unsigned s)
{
    double per = (double)row->events[ratio->per], of = (double)row->events[ratio->of];
    double mean = per > 0 ? of / per : 0, m2 = row->squares[s] - mean * of;
    return (struct cs_dte_moments){per, mean, m2 > 0 ? m2 : 0};
}
