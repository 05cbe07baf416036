/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page's histograms in two dimensions: rates by value of a tag, and of a log one rate against another
 * (shim-2015 figure 14). A first pass over the log finds the range of each rate; the second counts. The outermost
 * 0.1 % on each side is not drawn, but reported. */
#include "cli/command/figures.h"
#include "cli/html/page.h"
#include "cli/observe/series.h"
#include "dte/bins.h"
#include "observer/log/replay.h"
#include "store/base/order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BINS 100
#define TAGS_DRAWN 12
#define OUTERMOST 0.001

struct axis {
    double from, to; /* events a cycle */
};

struct counting {
    struct axis x, y;
    unsigned a, b; /* counters */
    uint64_t cells[BINS][BINS], total, outside;
};

static struct axis axis_of(const uint64_t rates[CS_DTE_RATE_BINS])
{
    struct axis axis = {cs_dte_rate_quantile(rates, OUTERMOST), cs_dte_rate_quantile(rates, 1 - OUTERMOST)};
    double margin = (axis.to - axis.from) / 50;
    axis.from = axis.from > margin ? axis.from - margin : 0;
    axis.to += margin > 0 ? margin : axis.to / 20 + 1e-9;
    return axis;
}

/* -1 outside. */
static int bin_of(const struct axis *axis, double rate)
{
    double at = (rate - axis->from) / (axis->to - axis->from) * BINS;
    return at >= 0 && at < BINS ? (int)at : -1;
}

static void count(void *arg, const struct cs_sample *from, const struct cs_sample *to,
                  enum cs_dte_verdict verdict)
{
    struct counting *k = arg;
    if (verdict != CS_DTE_KEPT)
        return;
    double cycles = (double)(to->start - from->start);
    int x = bin_of(&k->x, (double)(to->counters[k->a] - from->counters[k->a]) / cycles);
    int y = bin_of(&k->y, (double)(to->counters[k->b] - from->counters[k->b]) / cycles);
    k->total++;
    if (x < 0 || y < 0)
        k->outside++;
    else
        k->cells[x][y]++;
}

static json_t *axis_json(const char *label, double from, double to)
{
    return json_pack("{s:o, s:f, s:f, s:i}", "label", json_text(label), "from", from, "to", to, "bins", BINS);
}

/* Flat: x, y, number of intervals, and again. */
static json_t *cells_json(const struct counting *k)
{
    json_t *cells = json_array();
    for (int x = 0; x < BINS; x++)
        for (int y = 0; y < BINS; y++)
            if (k->cells[x][y]) {
                json_array_append_new(cells, json_integer(x));
                json_array_append_new(cells, json_integer(y));
                json_array_append_new(cells, json_integer((json_int_t)k->cells[x][y]));
            }
    return cells;
}

static json_t *rates_json(const struct observed *o, const char *log, unsigned b)
{
    struct counting *k = calloc(1, sizeof *k);
    struct cs_observe_replay_options options = {.rule = cs_dte_paper_rule(), .visit = count, .arg = k};
    struct cs_sink *sink = NULL;
    struct cs_error ignored = {0};
    json_t *joint = NULL;
    options.rule.same_tag = true;
    options.rule.gap_cycles = 0;
    if (!k)
        return NULL;
    *k = (struct counting){.x = axis_of(o->sink->rates[0]), .y = axis_of(o->sink->rates[b]), .b = b};
    if (cs_observe_replay(log, &options, &sink, NULL, &ignored) == 0 && k->total) {
        char title[300];
        snprintf(title, sizeof title, "%.80s and %.80s of the same intervals: %s kept, %s outside",
                 o->counters[0], o->counters[b], thousands((double)k->total).text,
                 thousands((double)k->outside).text);
        joint = json_pack("{s:o, s:o, s:o, s:o}", "title", json_text(title), "x",
                          axis_json(series_title(o, 0).text, 1000 * k->x.from, 1000 * k->x.to), "y",
                          axis_json(series_title(o, b).text, 1000 * k->y.from, 1000 * k->y.to), "cells",
                          cells_json(k));
    }
    cs_sink_close(sink);
    free(k);
    return joint;
}

CS_ORDER(most_time, const struct cs_tag_row *, cs_order((*b)->half_cycles, (*a)->half_cycles))

/* Shares within each value: a rare one is drawn as clearly as a frequent one. */
static json_t *tags_json(const struct observed *o, unsigned c)
{
    const struct cs_tags *tags = o->sink->tags[0];
    const struct cs_tag_row **rows = malloc((tags->n_rows + 1) * sizeof(*rows));
    struct axis axis = axis_of(o->sink->rates[c]);
    json_t *names = json_array(), *cells = json_array(), *edges = json_array();
    const double scale = series_scale(o, c);
    uint32_t n = 0;
    uint64_t total = 0, outside = 0;
    for (uint32_t i = 0; rows && i < tags->n_rows; i++)
        if (tags->rows[i].bins && tags->rows[i].kept)
            rows[n++] = &tags->rows[i];
    cs_sort(rows, n, most_time);
    /* The bin that holds the end is drawn whole. Bin CS_DTE_RATE_BINS is the range's end. */
    unsigned first = cs_dte_rate_bin(axis.from), last = cs_dte_rate_bin(axis.to) + 1;
    for (unsigned i = first; i <= last; i++)
        json_array_append_new(edges, json_real(scale * cs_dte_rate_bin_least(i)));
    for (uint32_t r = 0; r < n && r < TAGS_DRAWN; r++) {
        char name[256];
        observed_value(o, 0, rows[r]->tag, name, sizeof name);
        json_array_append_new(names, json_text(name));
        for (unsigned i = 0; i < CS_DTE_RATE_BINS; i++) {
            uint64_t found = rows[r]->bins[c * CS_DTE_RATE_BINS + i];
            total += found;
            outside += i < first || i >= last ? found : 0;
            if (found && i >= first && i < last) {
                json_array_append_new(cells, json_integer((json_int_t)(i - first)));
                json_array_append_new(cells, json_integer((json_int_t)r));
                json_array_append_new(cells, json_integer((json_int_t)found));
            }
        }
    }
    free(rows);
    char title[300];
    snprintf(title, sizeof title, "%.80s under each %.64s: %s interval%s kept, %s outside",
             series_name(o, c).text, o->tags[0], thousands((double)total).text, plural((double)total),
             thousands((double)outside).text);
    json_t *x = axis_json(series_title(o, c).text, scale * cs_dte_rate_bin_least(first),
                          scale * cs_dte_rate_bin_least(last));
    json_object_set_new(x, "bins", json_integer((json_int_t)(last - first)));
    json_object_set_new(x, "edges", edges);
    return json_pack("{s:o, s:o, s:{s:o, s:o}, s:o}", "title", json_text(title), "x", x, "y", "label",
                     json_text(o->tags[0]), "names", names, "cells", cells);
}

json_t *page_joint(const struct observed *o, const char *log)
{
    json_t *all = json_array();
    if (!o->sink->whole_run.kept)
        return all;
    for (unsigned b = 1; log && b < o->sink->n_counters; b++) {
        json_t *joint = rates_json(o, log, b);
        if (joint)
            json_array_append_new(all, joint);
    }
    for (unsigned c = 0; o->sink->n_tags && c < cs_sink_series(o->sink); c++)
        json_array_append_new(all, tags_json(o, c));
    return all;
}
