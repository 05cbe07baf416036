/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/observe/overlay.h"
#include "cli/observe/series.h"
#include "store/base/bisect.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PER 1000.0
#define ROWS 24
#define BAR_CELLS_ALL 48

int overlay_init(struct overlay *o, double least, double most, unsigned n_bins)
{
    *o = (struct overlay){.n_bins = n_bins ? n_bins : CS_DTE_RATE_BINS};
    o->edges = malloc((o->n_bins + 1) * sizeof *o->edges);
    if (!o->edges)
        return -ENOMEM;
    for (unsigned b = 0; b <= o->n_bins; b++)
        o->edges[b] = n_bins                 ? least + (most - least) * b / n_bins
                      : b < CS_DTE_RATE_BINS ? PER * cs_dte_rate_bin_least(b)
                                             : 2 * PER * cs_dte_rate_bin_least(b - 1);
    return 0;
}

int overlay_init_cycles(struct overlay *o)
{
    *o = (struct overlay){.n_bins = CS_DTE_CYCLE_BINS};
    o->edges = malloc((o->n_bins + 1) * sizeof *o->edges);
    for (unsigned b = 0; o->edges && b <= o->n_bins; b++)
        o->edges[b] = b < CS_DTE_CYCLE_BINS ? (double)cs_dte_cycle_bin_least(b) : 0x1p64;
    return o->edges ? 0 : -ENOMEM;
}

void overlay_fini(struct overlay *o)
{
    for (unsigned i = 0; i < o->n_series; i++)
        free(o->series[i].bins);
    free(o->edges);
    *o = (struct overlay){0};
}

struct overlay_series *overlay_add(struct overlay *o, const char *name)
{
    assert(o->n_bins > 0 && o->n_series <= OVERLAY_MAX);
    struct overlay_series *s = o->n_series < OVERLAY_MAX ? &o->series[o->n_series] : NULL;
    if (!s || !(s->bins = calloc(o->n_bins, sizeof *s->bins)))
        return NULL;
    snprintf(s->name, sizeof s->name, "%.63s", name);
    o->n_series++;
    return s;
}

static void count_value(const struct overlay *o, struct overlay_series *s, double rate, double scale,
                        double weight)
{
    const double value = scale * rate;
    s->intervals++;
    s->weight += weight;
    s->sum += weight * value;
    s->squares += weight * value * value;
    if (value < o->edges[0] || value >= o->edges[o->n_bins])
        return;
    if (o->n_bins == CS_DTE_RATE_BINS && o->edges[0] <= 0) /* bin 0 has no width */
        s->bins[cs_dte_rate_bin(scale == PER ? rate : value / PER)]++;
    else
        s->bins[cs_bisect(o->n_bins, i, o->edges[i] <= value) - 1]++;
}

struct counting {
    const struct overlay *overlay;
    struct overlay_series *series;
    const struct observed *of; /* the same log, summed: its counters and ratios */
    unsigned index;            /* series of it */
    const uint64_t *under;
    bool unfiltered, hardware;
};

static void count_interval(void *arg, const struct cs_sample *from, const struct cs_sample *to,
                           enum cs_dte_verdict verdict)
{
    const struct counting *c = arg;
    const struct cs_sink *sink = c->of->sink;
    const bool ratio = c->index >= sink->n_counters;
    const unsigned n = ratio ? sink->ratios[c->index - sink->n_counters].of : c->index,
                   per = ratio ? sink->ratios[c->index - sink->n_counters].per : 0;
    uint64_t delta = to->counters[n] - from->counters[n];
    uint64_t by = ratio         ? to->counters[per] - from->counters[per]
                  : c->hardware ? to->start - from->start
                                : to->end - from->end; /* as the sink has it */
    if (c->under && (from->tags[0] != *c->under || to->tags[0] != *c->under))
        return;
    if ((verdict == CS_DTE_KEPT || verdict == CS_DTE_TAG || (c->unfiltered && verdict == CS_DTE_SKEW)) &&
        by && (int64_t)(delta | by) >= 0)
        count_value(c->overlay, c->series,
                    ratio ? (double)delta / (double)by
                          : (double)delta * (1 / (double)by), /* at a bin's edge as the sink */
                    series_scale(c->of, c->index), (double)by);
}

int overlay_count_log(struct overlay *o, struct overlay_series *s, const char *log, const char *counter,
                      const char *under, bool unfiltered)
{
    struct observed_source whole, again;
    const char *ratios[1] = {counter};
    struct cs_observe_replay_options replay = {.rule = cs_dte_paper_rule(), .ratios = ratios};
    replay.rule.gap_cycles = 0;
    replay.rule.same_tag = true;
    replay.n_ratios = counter && (strchr(counter, '/') || strcasecmp(counter, "cpi") == 0);
    int rc = observed_open_log(log, &replay, &whole);
    if (rc)
        return rc;
    const struct observed *of = &whole.view;
    const int index = series_find(of, counter);
    uint64_t value = 0;
    if (index < 0)
        rc = failed_with("%s has no counter %s%s", log, counter ? counter : "at all",
                         counter ? observed_counter_meant(of, counter).text : "");
    else if (under && (of->sink->n_tags == 0 || !observed_named(of, 0, under, &value)))
        rc = failed_with("%s was never seen as a value of the first tag in %s%s", under, log,
                         of->sink->n_tags ? observed_value_meant(of, 0, under).text : "");
    if (rc == CS_EXIT_OK) {
        struct counting counting = {.overlay = o,
                                    .series = s,
                                    .of = of,
                                    .index = (unsigned)index,
                                    .under = under ? &value : NULL,
                                    .unfiltered = unfiltered,
                                    .hardware = cs_observe_log_reader_head(whole.log)->n_hardware > 0};
        snprintf(o->what, sizeof o->what, "%.100s%s%.40s", series_title(of, (unsigned)index).text,
                 under ? " under " : "", under ? under : "");
        replay.visit = count_interval;
        replay.arg = &counting;
        replay.rule.same_tag = under != NULL;
        rc = observed_open_log(log, &replay, &again);
    }
    if (rc == CS_EXIT_OK)
        observed_close(&again);
    observed_close(&whole);
    return rc;
}

static double quantile(const struct overlay *o, const struct overlay_series *s, double q)
{
    double all = 0, seen = 0;
    for (unsigned b = 0; b < o->n_bins; b++)
        all += s->bins[b];
    for (unsigned b = 0; b < o->n_bins; b++)
        if ((seen += s->bins[b]) > 0 && seen >= q * all)
            return isfinite(o->edges[b + 1]) && s->bins[b] > 0
                       ? o->edges[b + 1] - (seen - q * all) / s->bins[b] * (o->edges[b + 1] - o->edges[b])
                       : o->edges[b];
    return 0;
}

static void print_series(struct output *out, const struct overlay *o)
{
    static const struct column columns[] = {
        {.key = "series", .head = "of", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "intervals", .head = "intervals", .kind = COLUMN_COUNT},
        {.key = "mean", .head = "mean", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "deviation", .head = "std dev", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "p1", .head = "1 %", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "p50", .head = "median", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "p99", .head = "99 %", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "distance", .head = "apart %", .kind = COLUMN_SHARE},
    };
    struct table *table = output_table(out, "series", columns, sizeof columns / sizeof columns[0]);
    for (unsigned i = 0; i < o->n_series; i++) {
        const struct overlay_series *s = &o->series[i];
        double mean = s->weight > 0 ? s->sum / s->weight : 0;
        double variance = s->intervals > 1 ? s->squares / s->weight - mean * mean : 0;
        table_text(table, s->name);
        table_count(table, (uint64_t)s->intervals);
        table_number(table, mean);
        table_number(table, sqrt(fmax(0, variance)));
        table_number(table, quantile(o, s, 0.01));
        table_number(table, quantile(o, s, 0.5));
        table_number(table, quantile(o, s, 0.99));
        table_number(table,
                     i == 0 ? (double)NAN : 100 * cs_dte_ks_distance(o->series[0].bins, s->bins, o->n_bins));
    }
}

/* First and last bin of the middle 99.8 % of all series together, from bin `least` on. */
static void shown_range(const struct overlay *o, unsigned least, unsigned *first, unsigned *last)
{
    double all = 0, seen = 0;
    *first = least;
    *last = o->n_bins - 1;
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned b = least; b < o->n_bins; b++)
            for (unsigned i = 0; i < o->n_series; i++) {
                double share = o->series[i].intervals > 0 ? o->series[i].bins[b] / o->series[i].intervals : 0;
                if (pass == 0) {
                    all += share;
                    continue;
                }
                if (seen <= 0.001 * all)
                    *first = b;
                seen += share;
                if (seen >= 0.999 * all) {
                    *last = b;
                    return;
                }
            }
}

/* Bins as they are in JSON, joined into rows for the eye. */
static void bins_json(struct output *out, const struct overlay *o)
{
    json_t *list = json_array();
    for (unsigned b = 0; b < o->n_bins; b++) {
        double any = 0;
        for (unsigned i = 0; i < o->n_series; i++)
            any += o->series[i].bins[b];
        if (any <= 0)
            continue;
        json_t *counts = json_array();
        for (unsigned i = 0; i < o->n_series; i++)
            json_array_append_new(counts, json_integer((json_int_t)o->series[i].bins[b]));
        json_array_append_new(list, json_pack("[f,f,o]", o->edges[b], o->edges[b + 1], counts));
    }
    output_set(out, "what", json_text(o->what));
    output_set(out, "bins", list);
}

void overlay_print(struct output *out, const struct overlay *o)
{
    static struct column columns[2 + 2 * OVERLAY_MAX]; /* kept until the output is closed */
    static char keys[OVERLAY_MAX][24], heads[OVERLAY_MAX][64];
    unsigned n = 0, first, last, width = BAR_CELLS_ALL / (o->n_series ? o->n_series : 1);
    output_line(out, "%s", o->what);
    print_series(out, o);
    bins_json(out, o);
    /* Rates in the bins of a store: none at all is a row of its own, far from the least that there is. */
    unsigned zero = o->n_bins == CS_DTE_RATE_BINS && o->edges[0] <= 0;
    shown_range(o, zero, &first, &last);
    int digits = o->edges[last + 1] < 10 ? 3 : o->edges[last + 1] < 100 ? 2 : -1;
    columns[n++] = (struct column){.key = "from", .head = "from", .kind = COLUMN_NUMBER, .digits = digits};
    columns[n++] = (struct column){.key = "to", .head = "to", .kind = COLUMN_NUMBER, .digits = digits};
    for (unsigned i = 0; i < o->n_series; i++) {
        snprintf(keys[i], sizeof keys[i], "percent%u", i + 1);
        snprintf(heads[i], sizeof heads[i], "%.63s", o->series[i].name);
        columns[n++] = (struct column){.key = keys[i], .head = "%", .kind = COLUMN_SHARE};
        columns[n++] = (struct column){.head = heads[i], .kind = COLUMN_TEXT};
    }
    struct table *table = output_table(out, "overlay", columns, n);
    unsigned rows = 0, ends[ROWS + 2][2];
    unsigned each = (last - first + ROWS) / ROWS;
    if (zero)
        memcpy(ends[rows++], (unsigned[]){0, 1}, sizeof ends[0]);
    for (unsigned b = first; b <= last && rows < ROWS + 2; b += each, rows++)
        memcpy(ends[rows], (unsigned[]){b, b + each <= last + 1 ? b + each : last + 1}, sizeof ends[0]);
    double most[OVERLAY_MAX] = {0}, shares[ROWS + 2][OVERLAY_MAX] = {{0}};
    for (unsigned r = 0; r < rows; r++)
        for (unsigned i = 0; i < o->n_series; i++) {
            for (unsigned b = ends[r][0]; b < ends[r][1]; b++)
                shares[r][i] +=
                    o->series[i].intervals > 0 ? o->series[i].bins[b] / o->series[i].intervals : 0;
            most[i] = fmax(most[i], shares[r][i]);
        }
    for (unsigned r = 0; r < rows; r++) {
        table_number(table, o->edges[ends[r][0]]);
        if (zero && r == 0)
            table_number(table, 0);
        else
            table_number(table, o->edges[ends[r][1]]);
        for (unsigned i = 0; i < o->n_series; i++) {
            char bar[3 * BAR_CELLS_ALL + 1];
            bar_draw(bar, most[i] > 0 ? shares[r][i] / most[i] : 0, width);
            table_number(table, 100 * shares[r][i]);
            table_text(table, bar);
        }
    }
}
