/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A log over time (shim-2015 figure 19). The stretch from `from` to `to` is cut into equal buckets. Each
 * has the time under the most frequent values of a tag and the rates of all counters.
 *
 *      struct cs_observe_timeline *t;
 *      if (cs_observe_timeline_fold("FILE", &(struct cs_observe_timeline_options){.buckets = 200}, &t, NULL, &err) == 0) {
 *          for (unsigned b = 0; b < t->n_buckets; b++)
 *              draw(cs_observe_timeline_ms(t, b), t->buckets[b].rates[0].mean);
 *          cs_observe_timeline_close(t);
 *      }
 *
 * Times are cycles of the log's clock since its first sample. An interval between two samples gives each
 * bucket that it overlaps its part of the time, half to the tag at each of its ends. Its rate counts in the
 * bucket of its middle, if filtering kept it. Two passes over the file; memory for the buckets only. One
 * owner. Code addresses that the log names alike (points of one method or loop) are one value, the least of
 * them. */
#pragma once

#include "observer/log/log.h"
#include "observer/sample/ratio.h"
#include "store/base/error.h"

#include <stdbool.h>

#define CS_TIMELINE_TAGS 8 /* values that have a share of their own; all others together are the last */
#define CS_TIMELINE_BUCKETS 100000

struct cs_observe_timeline_options {
    double from_seconds, to_seconds; /* since the first sample; to_seconds 0 = the end */
    unsigned buckets;                /* 1 to CS_TIMELINE_BUCKETS */
    const char *const *ratios;       /* asked for beside IPC */
    unsigned n_ratios;
    unsigned tag; /* whose shares; ignored where the log has no tag */
    /* Called from time to time with how much of both passes is done, in bytes (NULL = not). */
    void (*progress)(void *arg, uint64_t done, uint64_t total);
    void *arg;
};

struct cs_observe_timeline_rate {
    double mean, least, most; /* events a cycle, of kept intervals; NaN where there is none */
};

struct cs_observe_timeline_bucket {
    double seen_cycles;                      /* of the bucket; the observer was away for the rest */
    double tag_cycles[CS_TIMELINE_TAGS + 1]; /* sums up to seen_cycles where the log has tags */
    uint64_t intervals, kept;                /* with their middle here */
    struct cs_observe_timeline_rate rates[CS_SERIES_MAX]; /* of counters, then of ratios */
};

struct cs_observe_timeline {
    double from_cycles, bucket_cycles, cycles_per_second;
    double whole_cycles; /* of the log, from its first sample to its last */
    unsigned n_tags;     /* values with a share of their own, most time first, "not running" last */
    uint64_t tag_values[CS_TIMELINE_TAGS];
    bool has_tag;
    unsigned n_counters, n_ratios, n_buckets;
    struct cs_ratio ratios[CS_RATIOS_MAX];
    struct cs_observe_log_head head; /* names of tags and counters */
    struct cs_observe_timeline_bucket buckets[];
};

/* *reader (may be NULL) is the log's reader at its end, for names of values; the caller closes it. */
int cs_observe_timeline_fold(const char *path, const struct cs_observe_timeline_options *options,
                             struct cs_observe_timeline **out, struct cs_observe_log_reader **reader,
                             struct cs_error *err);
void cs_observe_timeline_close(struct cs_observe_timeline *t);

/* What a series is called, with its unit or without, and what its values are multiplied by in that unit. */
double cs_observe_timeline_series(const struct cs_observe_timeline *t, unsigned series, bool unit, char *to,
                                  size_t size);

/* Where bucket `b` begins, in ms since the first sample. */
static inline double cs_observe_timeline_ms(const struct cs_observe_timeline *t, unsigned b)
{
    return (t->from_cycles + b * t->bucket_cycles) * 1e3 / t->cycles_per_second;
}
