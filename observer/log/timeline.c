/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/log/timeline.h"
#include "observer/log/replay.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct folding {
    struct cs_observe_timeline *t;
    struct {
        uint64_t value;
        unsigned slot;
    } last[2]; /* most samples have the tag that the one before had */
    unsigned tag;
    uint64_t first;                         /* clock of the log's first sample */
    double events[CS_COUNTERS_MAX], cycles; /* of the bucket that is being filled */
    unsigned open;                          /* its index */
};

static unsigned slot_of(struct folding *f, unsigned end, uint64_t value)
{
    if (f->last[end].value == value && f->last[end].slot <= CS_TIMELINE_TAGS)
        return f->last[end].slot;
    const struct cs_observe_timeline *t = f->t;
    unsigned slot = CS_TIMELINE_TAGS;
    for (unsigned i = t->n_tags; i-- > 0;)
        if (t->tag_values[i] == value)
            slot = i;
    f->last[end].value = value;
    f->last[end].slot = slot;
    return slot;
}

/* Which bucket a time falls in; -1 or n_buckets beyond the ends. */
static double place(const struct cs_observe_timeline *t, double at)
{
    return (at - t->from_cycles) / t->bucket_cycles;
}

/* Middles come in ascending order: a bucket is complete when the next one begins. */
static void complete(struct folding *f)
{
    struct cs_observe_timeline_bucket *b = &f->t->buckets[f->open];
    for (unsigned i = 0; i < f->t->n_ratios; i++) {
        const struct cs_ratio *ratio = &f->t->ratios[i];
        if (f->events[ratio->per] > 0)
            b->rates[f->t->n_counters + i].mean = f->events[ratio->of] / f->events[ratio->per];
    }
    for (unsigned c = 0; f->cycles > 0 && c < f->t->n_counters; c++) {
        b->rates[c].mean = f->events[c] / f->cycles;
        f->events[c] = 0;
    }
    f->cycles = 0;
}

static void widen(struct cs_observe_timeline_rate *r, double rate)
{
    r->least = fmin(r->least, rate); /* NaN gives way to a number */
    r->most = fmax(r->most, rate);
}

static void add_rates(struct folding *f, unsigned bucket, const struct cs_sample *from,
                      const struct cs_sample *to, double cycles)
{
    struct cs_observe_timeline_bucket *b = &f->t->buckets[bucket];
    if (bucket != f->open) {
        complete(f);
        f->open = bucket;
    }
    b->kept++;
    f->cycles += cycles;
    for (unsigned c = 0; c < f->t->n_counters; c++) {
        double events = (double)(int64_t)(to->counters[c] - from->counters[c]), rate = events / cycles;
        f->events[c] += events;
        widen(&b->rates[c], rate);
    }
    for (unsigned i = 0; i < f->t->n_ratios; i++) {
        const struct cs_ratio *ratio = &f->t->ratios[i];
        double of = (double)(int64_t)(to->counters[ratio->of] - from->counters[ratio->of]),
               per = (double)(int64_t)(to->counters[ratio->per] - from->counters[ratio->per]);
        if (per > 0)
            widen(&b->rates[f->t->n_counters + i], of / per);
    }
}

static void add_time(struct folding *f, double begin, double end, const struct cs_sample *from,
                     const struct cs_sample *to)
{
    struct cs_observe_timeline *t = f->t;
    double at = fmax(begin, t->from_cycles),
           last = fmin(end, t->from_cycles + t->n_buckets * t->bucket_cycles);
    unsigned bucket = at > begin ? 0 : (unsigned)fmax(0, place(t, at));
    for (; at < last && bucket < t->n_buckets; bucket++) {
        double edge = fmin(last, t->from_cycles + (bucket + 1) * t->bucket_cycles), part = edge - at;
        if (part <= 0)
            continue;
        t->buckets[bucket].seen_cycles += part;
        if (t->has_tag) {
            t->buckets[bucket].tag_cycles[slot_of(f, 0, from->tags[f->tag])] += part / 2;
            t->buckets[bucket].tag_cycles[slot_of(f, 1, to->tags[f->tag])] += part / 2;
        }
        at = edge;
    }
}

static void visit(void *arg, const struct cs_sample *from, const struct cs_sample *to,
                  enum cs_dte_verdict verdict)
{
    struct folding *f = arg;
    struct cs_observe_timeline *t = f->t;
    if (verdict >= CS_DTE_GAP)
        return;
    /* As in the sink: counters in memory are of the moment of the second clock. */
    bool memory = t->head.n_hardware == 0;
    double begin = (double)(int64_t)((memory ? from->end : from->start) - f->first),
           end = (double)(int64_t)((memory ? to->end : to->start) - f->first);
    if (end <= t->from_cycles || end <= begin)
        return;
    add_time(f, begin, end, from, to);
    double middle = place(t, (begin + end) / 2);
    if (middle < 0 || middle >= t->n_buckets)
        return;
    t->buckets[(unsigned)middle].intervals += 1;
    if (verdict == CS_DTE_KEPT || verdict == CS_DTE_TAG)
        add_rates(f, (unsigned)middle, from, to, end - begin);
}

CS_ORDER(by_time, const struct cs_tag_row *,
         cs_order((*a)->tag == CS_TAG_DESCHEDULED, (*b)->tag == CS_TAG_DESCHEDULED),
         cs_order((*b)->half_cycles, (*a)->half_cycles), cs_order((*a)->tag, (*b)->tag))

static int most_time(const struct cs_sink *sink, unsigned tag, struct cs_observe_timeline *t)
{
    const struct cs_tags *tags = sink->tags[tag];
    const struct cs_tag_row **rows = malloc((tags->n_rows + 1) * sizeof *rows);
    if (!rows)
        return -ENOMEM;
    for (uint32_t r = 0; r < tags->n_rows; r++)
        rows[r] = &tags->rows[r];
    cs_sort(rows, tags->n_rows, by_time);
    t->n_tags = tags->n_rows < CS_TIMELINE_TAGS ? tags->n_rows : CS_TIMELINE_TAGS;
    for (unsigned i = 0; i < t->n_tags; i++)
        t->tag_values[i] = rows[i]->tag;
    if (t->n_tags < tags->n_rows && rows[tags->n_rows - 1]->tag == CS_TAG_DESCHEDULED)
        t->tag_values[t->n_tags - 1] =
            CS_TAG_DESCHEDULED; /* not running is no other value: it is always told */
    t->has_tag = true;
    free(rows);
    return 0;
}

/* The buckets, all empty, and what they need to know of the whole log. */
static int prepare(const struct cs_observe_log_head *head, const struct cs_sink *whole,
                   const struct cs_observe_timeline_options *options, struct cs_observe_timeline **out,
                   struct cs_error *err)
{
    double hz = (double)head->cycles_per_second, from = options->from_seconds * hz,
           end = (double)(whole->last - whole->first),
           to = options->to_seconds > 0 ? options->to_seconds * hz : end;
    if (whole->samples < 2)
        return cs_fail(err, ENODATA, "the log has no two samples");
    if (from >= end || to <= from)
        return cs_fail(err, EINVAL, "nothing was logged from %g to %g s: the log has %.3f s",
                       options->from_seconds, options->to_seconds > 0 ? options->to_seconds : end / hz,
                       end / hz);
    struct cs_observe_timeline *t = calloc(1, sizeof *t + options->buckets * sizeof t->buckets[0]);
    if (!t)
        return cs_fail(err, ENOMEM, "no memory for %u buckets", options->buckets);
    t->head = *head;
    t->from_cycles = from;
    t->bucket_cycles = (fmin(to, end) - from) / options->buckets;
    t->cycles_per_second = hz;
    t->whole_cycles = end;
    t->n_counters = head->n_software + head->n_hardware;
    t->n_ratios = whole->n_ratios;
    memcpy(t->ratios, whole->ratios, sizeof t->ratios);
    t->n_buckets = options->buckets;
    for (unsigned b = 0; b < t->n_buckets; b++)
        for (unsigned c = 0; c < CS_SERIES_MAX; c++)
            t->buckets[b].rates[c] = (struct cs_observe_timeline_rate){NAN, NAN, NAN};
    if (head->n_tags && most_time(whole, options->tag, t) < 0) {
        free(t);
        return cs_fail(err, ENOMEM, "no memory for tags");
    }
    *out = t;
    return 0;
}

/* Progress of the first or second of two passes. */
struct passing {
    const struct cs_observe_timeline_options *options;
    unsigned pass;
};

static void pass_on(void *arg, uint64_t done, uint64_t total)
{
    const struct passing *p = arg;
    p->options->progress(p->options->arg, done + p->pass * total, 2 * total);
}

int cs_observe_timeline_fold(const char *path, const struct cs_observe_timeline_options *options,
                             struct cs_observe_timeline **out, struct cs_observe_log_reader **reader,
                             struct cs_error *err)
{
    struct cs_observe_replay_options replay = {.rule = cs_dte_paper_rule()};
    struct cs_observe_log_reader *r = NULL;
    struct cs_sink *sink = NULL;
    struct folding f = {.tag = options->tag, .last = {{0, UINT_MAX}, {0, UINT_MAX}}};
    struct passing passing = {options, 0};
    replay.rule.same_tag = true;
    replay.rule.gap_cycles = 0;
    replay.ratios = options->ratios;
    replay.n_ratios = options->n_ratios;
    replay.progress = options->progress ? pass_on : NULL;
    replay.progress_arg = &passing;
    if (options->buckets < 1 || options->buckets > CS_TIMELINE_BUCKETS)
        return cs_fail(err, EINVAL, "a time line has 1 to %d buckets", CS_TIMELINE_BUCKETS);
    int rc = cs_observe_replay(path, &replay, &sink, &r, err);
    if (rc < 0)
        return rc;
    if (cs_observe_log_reader_head(r)->n_tags && options->tag >= cs_observe_log_reader_head(r)->n_tags)
        rc = cs_fail(err, EINVAL, "the log has no tag number %u", options->tag);
    if (rc == 0)
        rc = prepare(cs_observe_log_reader_head(r), sink, options, &f.t, err);
    f.first = sink->first;
    cs_sink_close(sink);
    cs_observe_log_reader_close(r);
    if (rc < 0)
        return rc;
    replay.visit = visit;
    replay.arg = &f;
    passing.pass = 1;
    rc = cs_observe_replay(path, &replay, &sink, reader, err);
    cs_sink_close(sink);
    if (rc < 0) {
        cs_observe_timeline_close(f.t);
        return rc;
    }
    complete(&f);
    *out = f.t;
    return 0;
}

void cs_observe_timeline_close(struct cs_observe_timeline *t)
{
    free(t);
}

double cs_observe_timeline_series(const struct cs_observe_timeline *t, unsigned series, bool unit, char *to,
                                  size_t size)
{
    assert(series < t->n_counters + t->n_ratios && size > 0);
    const char *counters[CS_COUNTERS_MAX];
    for (unsigned c = 0; c < t->n_counters; c++)
        counters[c] = t->head.counters[c];
    if (series < t->n_counters) {
        snprintf(to, size, "%s%s", counters[series], unit ? " per 1000 TSC cycles" : "");
        return 1000;
    }
    const struct cs_ratio *ratio = &t->ratios[series - t->n_counters];
    double scale = cs_ratio_scale(ratio, counters);
    if (unit && scale != 1)
        snprintf(to, size, "%.70s per 1000 %.70s", counters[ratio->of], counters[ratio->per]);
    else
        cs_ratio_name(ratio, counters, to, size);
    return scale;
}
