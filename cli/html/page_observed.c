/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the observer saw, and the comparison. */
#include "cli/command/figures.h"
#include "cli/compare/comparison.h"
#include "cli/html/page.h"
#include "cli/observe/observed_source.h"
#include "cli/observe/overlay.h"
#include "cli/observe/series.h"
#include "dte/bins.h"
#include "store/base/order.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TAGS_MAX 2000
#define HISTOGRAM_BARS 60

/* ---- observed ---- */

#define IPC_BINS 500
#define IPC_MOST 4.0

/* `width`: what the height of a bar is a share for; wider bars are lower. */
static json_t *bars_json(const struct observed *o, unsigned c, double sum, double width, json_t *edges,
                         json_t *shares)
{
    const struct series_name name = series_name(o, c), unit = series_title(o, c);
    char title[300];
    snprintf(title, sizeof title, "%s: %s interval%s kept", name.text, thousands(sum).text, plural(sum));
    return json_pack("{s:o, s:o, s:f, s:o, s:o}", "title", json_text(title), "x", json_text(unit.text),
                     "width", width, "edges", edges, "shares", shares);
}

static double rate_end(unsigned bin)
{
    const double end = cs_dte_rate_bin_least(bin + 1);
    return isfinite(end) ? end : 2 * cs_dte_rate_bin_least(bin);
}

/* Each bin in its whole width: it isn't known where in it its intervals are. Narrow ones are joined. */
static json_t *histogram_json(const struct observed *o, unsigned c)
{
    json_t *edges = json_array(), *shares = json_array();
    const uint64_t *bins = o->sink->rates[c];
    const double scale = series_scale(o, c);
    double sum = 0, seen = 0, joined = 0;
    unsigned first = CS_DTE_RATE_BINS, last = 0;
    for (unsigned i = 0; i < CS_DTE_RATE_BINS; i++)
        sum += (double)bins[i];
    for (unsigned i = 0; i < CS_DTE_RATE_BINS; i++) { /* what lies within the outermost 0.01 % on each side */
        if (bins[i] && seen <= (1 - 1e-4) * sum)
            last = i;
        seen += (double)bins[i];
        if (first == CS_DTE_RATE_BINS && bins[i] && seen >= 1e-4 * sum)
            first = i;
    }
    if (sum <= 0)
        return bars_json(o, c, 0, 0, edges, shares);
    double from = cs_dte_rate_bin_least(first);
    const double width = (rate_end(last) - from) / HISTOGRAM_BARS;
    for (unsigned i = first; i <= last && width > 0; i++) {
        joined += (double)bins[i];
        if (rate_end(i) - from < width && i < last)
            continue;
        json_array_append_new(edges, json_real(scale * from));
        json_array_append_new(shares, json_real(100 * joined / sum));
        from = rate_end(i);
        joined = 0;
    }
    json_array_append_new(edges, json_real(scale * from));
    return bars_json(o, c, sum, scale * width, edges, shares);
}

/* Of IPC in a log: as fine as in SHIM's figures, 500 bins from 0 to 4. */
static json_t *ipc_json(const struct observed *o, unsigned c, const char *log)
{
    struct overlay overlay;
    json_t *edges = json_array(), *shares = json_array();
    struct overlay_series *s = NULL;
    if (overlay_init(&overlay, 0, IPC_MOST, IPC_BINS) == 0 && (s = overlay_add(&overlay, "")))
        overlay_count_log(&overlay, s, log, "IPC", NULL, false);
    for (unsigned i = 0; s && i <= IPC_BINS; i++)
        json_array_append_new(edges, json_real(overlay.edges[i]));
    for (unsigned i = 0; s && i < IPC_BINS; i++)
        json_array_append_new(shares, json_real(s->intervals > 0 ? 100 * s->bins[i] / s->intervals : 0));
    json_t *all = bars_json(o, c, s ? s->intervals : 0, IPC_MOST / IPC_BINS, edges, shares);
    overlay_fini(&overlay);
    return all;
}

/* Ratios first. */
static unsigned in_order(const struct observed *o, unsigned i)
{
    return i < o->sink->n_ratios ? o->sink->n_counters + i : i - o->sink->n_ratios;
}

CS_ORDER(by_cycles, const struct cs_tag_row *,
         cs_order((*a)->tag == CS_TAG_DESCHEDULED, (*b)->tag == CS_TAG_DESCHEDULED),
         cs_order((*b)->half_cycles, (*a)->half_cycles))

static json_t *tag_json(const struct observed *o, unsigned tag)
{
    const struct cs_tags *tags = o->sink->tags[tag];
    const struct cs_tag_row **order = malloc((tags->n_rows + 1) * sizeof(*order));
    json_t *rows = json_array();
    double cycles = 0;
    for (uint32_t i = 0; order && i < tags->n_rows; i++) {
        order[i] = &tags->rows[i];
        if (tags->rows[i].tag != CS_TAG_DESCHEDULED) /* shares are of the time in which the program ran */
            cycles += (double)tags->rows[i].half_cycles / 2;
    }
    if (order)
        cs_sort(order, tags->n_rows, by_cycles);
    for (uint32_t i = 0; order && i < tags->n_rows && i < TAGS_MAX; i++) {
        const struct cs_tag_row *r = order[i];
        char name[256];
        observed_value(o, tag, r->tag, name, sizeof name);
        json_t *x = json_pack("[o, f, I, I]", json_text(name), (double)r->half_cycles / 2,
                              (json_int_t)r->samples, (json_int_t)r->visits);
        for (unsigned k = 0; k < cs_sink_series(o->sink); k++) {
            const unsigned c = in_order(o, k);
            json_array_append_new(
                x, r->kept ? json_real(series_scale(o, c) * cs_sink_rate(o->sink, r, c).mean) : json_null());
        }
        json_array_append_new(rows, x);
    }
    free(order);
    return json_pack("{s:o, s:f, s:o}", "tag", json_text(o->tags[tag]), "cycles", cycles, "rows", rows);
}

int page_observed(json_t *page, const struct parsed *args, const struct profile *p)
{
    bool any = option_given(args, "log");
    for (size_t i = 0; p && i < p->n_images; i++)
        any |= p->images[i].image.kind == CS_IMAGE_TAG;
    struct observed_source source;
    if (!any)
        return json_object_set_new(page, "observed", json_null());
    if (observed_open(args, NULL, &source) != CS_EXIT_OK)
        return json_object_set_new(page, "observed", json_null());
    const struct observed *o = &source.view;
    json_t *counters = json_array(), *histograms = json_array(), *tags = json_array();
    for (unsigned i = 0; i < cs_sink_series(o->sink); i++) {
        const unsigned c = in_order(o, i);
        const char *log = option(args, "log");
        bool ipc = log && strcmp(series_name(o, c).text, "IPC") == 0;
        json_array_append_new(counters, json_text(series_title(o, c).text));
        if (o->sink->whole_run.kept)
            json_array_append_new(histograms, ipc ? ipc_json(o, c, log) : histogram_json(o, c));
    }
    for (unsigned t = 0; t < o->sink->n_tags; t++)
        json_array_append_new(tags, tag_json(o, t));
    uint64_t all = cs_dte_tally_intervals(&o->sink->tally);
    char sentence[400];
    snprintf(sentence, sizeof sentence,
             "%.200s: %s sample%s. Rates are of the %.1f %% of intervals that nothing disturbed.", o->program,
             thousands((double)o->sink->samples).text, plural((double)o->sink->samples),
             all ? 100 * (double)o->sink->whole_run.kept / (double)all : 0.0);
    json_object_set_new(page, "observed",
                        json_pack("{s:o, s:o, s:o, s:o, s:o}", "sentence", json_text(sentence), "counters",
                                  counters, "tags", tags, "histograms", histograms, "joint",
                                  page_joint(o, option(args, "log"))));
    observed_close(&source);
    return 0;
}

/* ---- comparison ---- */

int page_compare(json_t *page, const char *store, const char *other, struct cs_error *err)
{
    struct runs runs = {.n_runs = 0};
    struct comparison c = {.least = COMPARISON_LEAST_BY_RUNS};
    int rc = runs_add(&runs, store, NULL, NULL, BY_PROCEDURE, err);
    rc = rc < 0 ? rc : runs_add(&runs, other, NULL, NULL, BY_PROCEDURE, err);
    if (rc == 0 && (runs_join_renamed(&runs) < 0 || runs_compare(&runs, &c) < 0))
        rc = cs_fail(err, ENOMEM, "out of memory for %zu rows", runs.n_rows);
    if (rc == 0) {
        double scale = c.time && strcmp(runs.unit, "ns") == 0 ? 1e-9 : 1;
        json_t *rows = json_array();
        for (size_t i = 0; i < c.n; i++) {
            const struct change *x = &c.change[i];
            char name[1024];
            json_array_append_new(
                rows, json_pack("[o, f, f, o, b, o]",
                                x->row->name ? json_text(cs_image_demangle(x->row->name, name, sizeof name))
                                             : json_null(),
                                x->cost_a * scale, x->cost_b * scale,
                                isfinite(x->ratio) ? json_real(x->ratio) : json_null(), x->significant,
                                json_text(x->row->image ? x->row->image : "")));
        }
        char note[400];
        snprintf(note, sizeof note,
                 "A: %.100s, B: %.100s, cost of a run in %s. %zu of %zu differ significantly (false "
                 "discovery rate below 1 %%, change above %g %%).",
                 store, other, scale == 1 ? runs.unit : "seconds", c.n_significant, c.n, c.least);
        json_object_set_new(page, "compare", json_pack("{s:o, s:o}", "note", json_text(note), "rows", rows));
    }
    free(c.change);
    runs_fini(&runs);
    return rc;
}
