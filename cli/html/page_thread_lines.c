/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each thread did over time, as `timeline` tells it. */
#include "analysis/waits/time_lines.h"
#include "cli/html/page.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define LINES_MAX 100
#define BUCKETS 400

static bool same(const struct cs_time_lines *l, const float *shares, unsigned a, unsigned b)
{
    return memcmp(&shares[(size_t)a * l->n_states], &shares[(size_t)b * l->n_states],
                  l->n_states * sizeof *shares) == 0;
}

/* [first bucket, buckets alike, state, percent] and again. */
static json_t *cells(const struct cs_time_lines *l, const float *shares)
{
    json_t *list = json_array();
    for (unsigned b = 0, next; b < l->n_buckets; b = next) {
        for (next = b + 1; next < l->n_buckets && same(l, shares, b, next);)
            next++;
        for (unsigned s = 0; s < l->n_states; s++) {
            double percent = round(1000.0 * (double)shares[(size_t)b * l->n_states + s]) / 10;
            if (!(percent > 0))
                continue;
            json_array_append_new(list, json_integer(b));
            json_array_append_new(list, json_integer(next - b));
            json_array_append_new(list, json_integer(s));
            json_array_append_new(list, json_real(percent));
        }
    }
    return list;
}

static json_t *line_json(const struct cs_time_lines *l, const struct cs_time_line *line)
{
    json_t *seconds = json_array();
    for (unsigned s = 0; s < l->n_states; s++)
        json_array_append_new(seconds, json_real(line->ns[s] * 1e-9));
    return json_pack("[o, I, f, f, o, o]", json_text(line->name), (json_int_t)line->tid,
                     (double)line->begin_ns * 1e-9, (double)line->end_ns * 1e-9, seconds,
                     cells(l, line->shares));
}

int page_thread_lines(json_t *page, struct cs_store *store, const char *label, struct cs_error *err)
{
    struct cs_time_lines l;
    struct cs_error none = {0};
    struct cs_time_lines_wanted wanted = {.label = label, .buckets = BUCKETS, .lines = LINES_MAX};
    int rc = cs_time_lines_open(&l, store, &wanted, &none);
    if (rc == -ENOENT || rc == -EINVAL)
        return json_object_set_new(page, "thread_lines", json_null());
    if (rc < 0)
        return cs_fail(err, -rc, "%s", none.text);
    json_t *states = json_array(), *lines = json_array();
    for (unsigned s = 0; s < l.n_states; s++)
        json_array_append_new(states, json_text(l.states[s]));
    for (size_t i = 0; i < l.n; i++)
        json_array_append_new(lines, line_json(&l, &l.at[i]));
    json_object_set_new(page, "thread_lines",
                        json_pack("{s:f, s:i, s:o, s:o, s:I, s:I}", "seconds", (double)l.whole_ns * 1e-9,
                                  "buckets", (int)l.n_buckets, "states", states, "lines", lines, "left",
                                  (json_int_t)(l.omitted + l.cut_threads), "cut", (json_int_t)l.cut));
    cs_time_lines_close(&l);
    return 0;
}
