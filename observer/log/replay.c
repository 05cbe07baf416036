/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/log/replay.h"

#include "observer/log/aliases.h"

#include <assert.h>
#include <errno.h>

/* Subsampling lengthens periods, and what counts as a gap with them; the loop's own period is the log's
 * median of the first samples, and so is the time that reading one usually takes. */
static uint64_t usual_period(const char *path, uint64_t *reading, struct cs_error *err)
{
    struct cs_observe_log_reader *r;
    uint64_t counts[CS_DTE_CYCLE_BINS] = {0}, readings[CS_DTE_CYCLE_BINS] = {0};
    *reading = 0;
    if (cs_observe_log_open(path, &r, err) < 0)
        return 0;
    struct cs_sample from = {0}, to;
    bool gap;
    for (int i = 0; i < 20000 && cs_observe_log_next(r, &to, &gap, err) > 0; i++, from = to) {
        readings[cs_dte_cycle_bin(to.end - to.start)]++;
        if (!gap)
            counts[cs_dte_cycle_bin(to.start - from.start)]++;
    }
    cs_observe_log_reader_close(r);
    *reading = (uint64_t)cs_dte_cycle_quantile(readings, 0.5);
    return (uint64_t)cs_dte_cycle_quantile(counts, 0.5);
}

/* Points of one method are one value: names come behind the samples, so they are read before. */
struct regions {
    struct cs_observe_aliases aliases[CS_TAGS_MAX];
    uint64_t raw[CS_TAGS_MAX], region[CS_TAGS_MAX]; /* of the last sample */
    unsigned n;
};

static int regions_init(struct regions *g, const char *path, struct cs_error *err)
{
    struct cs_observe_log_reader *r;
    *g = (struct regions){0};
    int rc = cs_observe_log_open(path, &r, err);
    if (rc < 0)
        return rc;
    rc = cs_observe_log_skip_to_names(r, err);
    for (unsigned t = 0; rc == 0 && t < cs_observe_log_reader_head(r)->n_tags && t < CS_TAGS_MAX; t++, g->n++)
        if (cs_observe_aliases_open(&g->aliases[t], r, t) < 0)
            rc = cs_fail(err, ENOMEM, "no memory for the names in the log %s", path);
    cs_observe_log_reader_close(r);
    return rc;
}

static void regions_fini(struct regions *g)
{
    for (unsigned t = 0; t < CS_TAGS_MAX; t++)
        cs_observe_aliases_fini(&g->aliases[t]);
}

static void to_regions(struct regions *g, struct cs_sample *s)
{
    for (unsigned t = 0; t < g->n; t++) {
        if (s->tags[t] != g->raw[t]) {
            g->raw[t] = s->tags[t];
            g->region[t] = cs_observe_aliases_region(&g->aliases[t], s->tags[t]);
        }
        s->tags[t] = g->region[t];
    }
}

#define PROGRESS_SAMPLES (1u << 16) /* between two calls */

static int play(struct cs_observe_log_reader *r, const struct cs_observe_replay_options *options,
                struct regions *regions, struct cs_sink *sink, struct cs_error *err)
{
    const struct cs_observe_log_head *head = cs_observe_log_reader_head(r);
    unsigned tags =
        head->n_tags % (CS_TAGS_MAX + 1); /* the reader checked them; the compiler wants to see it */
    unsigned software = head->n_software % (CS_COUNTERS_MAX + 1),
             hardware = head->n_hardware % (CS_COUNTERS_MAX + 1 - software), every = options->subsample,
             skip = 0;
    struct cs_sample from = {0}, to;
    bool gap, started = false;
    uint64_t n = 0, done, total;
    int rc;
    while ((rc = cs_observe_log_next(r, &to, &gap, err)) > 0) {
        if (options->progress && n++ % PROGRESS_SAMPLES == 0) {
            cs_observe_log_reader_place(r, &done, &total);
            options->progress(options->progress_arg, done, total);
        }
        to_regions(regions, &to);
        if (gap)
            started = false;
        if (started && ++skip < every)
            continue;
        skip = 0;
        if (started) {
            cs_sink_probe(sink, tags, &from, &to);
            enum cs_dte_verdict verdict =
                cs_sink_add(sink, tags, software, hardware, head->follow, &from, &to);
            if (options->visit)
                options->visit(options->arg, &from, &to, verdict);
        } else {
            cs_sink_first(sink, tags, &to);
            started = true;
        }
        from = to;
    }
    cs_sink_total(sink);
    return rc;
}

int cs_observe_replay(const char *path, const struct cs_observe_replay_options *options,
                      struct cs_sink **sink, struct cs_observe_log_reader **reader, struct cs_error *err)
{
    assert(options->ratios || options->n_ratios == 0);
    struct cs_observe_log_reader *r;
    struct regions regions = {0};
    *sink = NULL;
    int rc = cs_observe_log_open(path, &r, err);
    if (rc < 0)
        return rc;
    const struct cs_observe_log_head *head = cs_observe_log_reader_head(r);
    struct cs_dte_rule rule = options->rule;
    uint64_t reading;
    const uint64_t usual = usual_period(path, &reading, err),
                   period = usual * (options->subsample > 1 ? options->subsample : 1);
    if (rule.gap_cycles == 0)
        rule.gap_cycles = 2 * period + head->cycles_per_second / 100000;
    if (!options->paper && head->n_hardware == 0)
        cs_observe_memory_rule(&rule, (double)head->cycles_per_second, reading);
    const char *counters[CS_COUNTERS_MAX];
    struct cs_ratio ratios[CS_RATIOS_MAX];
    unsigned n_counters = head->n_software + head->n_hardware, n_ratios;
    for (unsigned c = 0; c < n_counters; c++)
        counters[c] = head->counters[c];
    rc = options->raw_values ? 0 : regions_init(&regions, path, err);
    if (rc == 0)
        rc = cs_ratios_choose(options->ratios, options->n_ratios, counters, n_counters, ratios, &n_ratios,
                              err);
    if (rc == 0)
        rc = cs_sink_open(head->n_tags, n_counters, ratios, n_ratios, &rule, sink, err);
    if (rc == 0) {
        cs_sink_period(*sink, period, (double)head->cycles_per_second);
        rc = play(r, options, &regions, *sink, err);
    }
    regions_fini(&regions);
    if (rc < 0) {
        cs_sink_close(*sink);
        *sink = NULL;
    }
    if (rc == 0 && reader)
        *reader = r;
    else
        cs_observe_log_reader_close(r);
    return rc;
}
