/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page's time line of a sample log. Shares of the time by tag, and the range of the rates in each stretch (shim-2015 figure 19). */
#include "cli/command/figures.h"
#include "cli/html/page.h"
#include "cli/observe/observed_source.h"
#include "observer/log/timeline.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define BUCKETS 1000

static json_t *number_or_gap(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *milliseconds(const struct cs_observe_timeline *t)
{
    json_t *x = json_array();
    for (unsigned b = 0; b < t->n_buckets; b++)
        json_array_append_new(x, json_real(cs_observe_timeline_ms(t, b)));
    return x;
}

static json_t *value_name(const struct cs_observe_log_reader *log, uint64_t value)
{
    char text[32];
    const char *name = cs_observe_log_reader_name_of(log, 0, value);
    if (name)
        return json_text(name);
    snprintf(text, sizeof text, "%" PRIu64, value);
    return json_string(value == CS_TAG_DESCHEDULED ? "(not running)" : text);
}

static json_t *tags_chart(const struct cs_observe_timeline *t, const struct cs_observe_log_reader *log)
{
    json_t *heads = json_pack("[s]", "ms"), *columns = json_pack("[o]", milliseconds(t));
    for (unsigned i = 0; i <= t->n_tags; i++) {
        json_t *y = json_array();
        double all = 0;
        for (unsigned b = 0; b < t->n_buckets; b++) {
            const struct cs_observe_timeline_bucket *k = &t->buckets[b];
            json_array_append_new(y, k->seen_cycles > 0 ? json_real(100 * k->tag_cycles[i] / k->seen_cycles)
                                                        : json_null());
            all += k->tag_cycles[i];
        }
        if (i == t->n_tags && !(all > 0)) { /* no others */
            json_decref(y);
            continue;
        }
        json_array_append_new(heads,
                              i < t->n_tags ? value_name(log, t->tag_values[i]) : json_string("all others"));
        json_array_append_new(columns, y);
    }
    char title[160];
    snprintf(title, sizeof title, "%.64s: share of the time that was seen, %%", t->head.tags[0]);
    return json_pack("{s:o, s:o, s:o}", "title", json_text(title), "heads", heads, "columns", columns);
}

static json_t *rate_chart(const struct cs_observe_timeline *t, unsigned c)
{
    char name[160], title[300];
    double scale = cs_observe_timeline_series(t, c, true, name, sizeof name);
    json_t *mean = json_array(), *least = json_array(), *most = json_array();
    for (unsigned b = 0; b < t->n_buckets; b++) {
        const struct cs_observe_timeline_rate *r = &t->buckets[b].rates[c];
        json_array_append_new(mean, number_or_gap(scale * r->mean));
        json_array_append_new(least, number_or_gap(scale * r->least));
        json_array_append_new(most, number_or_gap(scale * r->most));
    }
    snprintf(title, sizeof title, "%s, in buckets of %s ms", name,
             figure(1e3 * t->bucket_cycles / t->cycles_per_second, 3).text);
    return json_pack("{s:o, s:[s, s, s, s], s:[o, o, o, o]}", "title", json_text(title), "heads", "ms",
                     "mean", "least", "most", "columns", milliseconds(t), mean, least, most);
}

void page_log(json_t *page, const struct parsed *args)
{
    const char *ratios[CS_RATIOS_MAX], *file = option(args, "log");
    unsigned n_ratios;
    struct cs_observe_timeline *t = NULL;
    struct cs_observe_log_reader *log = NULL;
    struct cs_error ignored = {0};
    json_t *charts = json_object_get(page, "timeline");
    if (observed_ratios(args, ratios, &n_ratios))
        return;
    if (cs_observe_timeline_fold(
            file,
            &(struct cs_observe_timeline_options){.buckets = BUCKETS, .ratios = ratios, .n_ratios = n_ratios},
            &t, &log, &ignored) < 0)
        return; /* page_observed says what is wrong with it */
    if (t->has_tag)
        json_array_append_new(charts, tags_chart(t, log));
    for (unsigned r = 0; r < t->n_ratios; r++)
        json_array_append_new(charts, rate_chart(t, t->n_counters + r));
    for (unsigned c = 0; c < t->n_counters; c++)
        json_array_append_new(charts, rate_chart(t, c));
    cs_observe_timeline_close(t);
    cs_observe_log_reader_close(log);
}
