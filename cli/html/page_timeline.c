/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page's time lines: interval profiles as shares of procedures over time, and the phases that they fall
 * into (sprof-1998, section 4.4). */
#include "analysis/statistics/phase.h"
#include "cli/command/figures.h"
#include "cli/html/page.h"
#include "cli/profile/phases/interval_matrix.h"

#include <stdlib.h>
#include <string.h>

#define CURVES_MAX 6
#define PHASES_MAX 500

static json_t *heads_of(const struct interval_matrix *m, size_t n)
{
    json_t *heads = json_pack("[s]", "seconds");
    for (size_t k = 0; k < n; k++) {
        char name[512], text[600];
        const char *tab = strchr(m->procedures[k], '\t');
        snprintf(name, sizeof name, "%.*s", tab ? (int)(tab - m->procedures[k]) : 500, m->procedures[k]);
        json_array_append_new(heads, json_text(cs_image_demangle(name, text, sizeof text)));
    }
    if (m->n_procedures > n)
        json_array_append_new(heads, json_string("all others"));
    return heads;
}

static double samples_of(const struct interval_matrix *m, size_t interval)
{
    double sum = 0;
    for (size_t k = 0; k < m->n_procedures; k++)
        sum += (double)m->counts[interval * m->n_procedures + k];
    return sum;
}

/* Percent of each interval's samples; an interval without any has gaps. */
static json_t *shares_chart(const struct interval_matrix *m)
{
    size_t n = m->n_procedures < CURVES_MAX ? m->n_procedures : CURVES_MAX;
    json_t *columns = json_array();
    for (size_t c = 0; c <= n + (m->n_procedures > n); c++)
        json_array_append_new(columns, json_array());
    for (size_t i = 0; i < m->n_intervals; i++) {
        double all = samples_of(m, i), named = 0;
        json_array_append_new(json_array_get(columns, 0), json_real((double)(i * m->length_ms) / 1000));
        for (size_t k = 0; k < n; k++) {
            double x = (double)m->counts[i * m->n_procedures + k];
            named += x;
            json_array_append_new(json_array_get(columns, k + 1),
                                  all > 0 ? json_real(100 * x / all) : json_null());
        }
        if (m->n_procedures > n)
            json_array_append_new(json_array_get(columns, n + 1),
                                  all > 0 ? json_real(100 * (all - named) / all) : json_null());
    }
    char title[200];
    snprintf(title, sizeof title, "Share of the samples of each interval of %s s, %%",
             figure((double)m->length_ms / 1000, 3).text);
    return json_pack("{s:s, s:o, s:o}", "title", title, "heads", heads_of(m, n), "columns", columns);
}

static json_t *samples_chart(const struct interval_matrix *m)
{
    json_t *x = json_array(), *y = json_array();
    for (size_t i = 0; i < m->n_intervals; i++) {
        json_array_append_new(x, json_real((double)(i * m->length_ms) / 1000));
        json_array_append_new(y, json_real(samples_of(m, i)));
    }
    return json_pack("{s:s, s:[s, s], s:[o, o]}", "title", "Samples per interval", "heads", "seconds",
                     "samples", "columns", x, y);
}

/* The procedure that a stretch spends most in. */
static json_t *phase_json(const struct interval_matrix *m, const struct cs_phase *p)
{
    size_t best = 0;
    double most = -1;
    for (size_t k = 0; k < m->n_procedures; k++) {
        double sum = 0;
        for (size_t i = p->first; i < p->first + p->n; i++)
            sum += (double)m->counts[i * m->n_procedures + k];
        if (sum > most) {
            most = sum;
            best = k;
        }
    }
    char name[512], text[600], letter[16] = "idle";
    const char *tab = strchr(m->procedures[best], '\t');
    snprintf(name, sizeof name, "%.*s", tab ? (int)(tab - m->procedures[best]) : 500, m->procedures[best]);
    if (p->number != CS_PHASE_IDLE)
        snprintf(letter, sizeof letter, p->number < 26 ? "%c" : "%c%u", (char)('A' + p->number % 26),
                 p->number / 26 + 1);
    return json_pack("[s, f, f, I, o, f]", letter, (double)(p->first * m->length_ms) / 1000,
                     (double)(p->n * m->length_ms) / 1000, (json_int_t)p->samples,
                     json_text(cs_image_demangle(name, text, sizeof text)),
                     p->samples ? 100 * most / (double)p->samples : 0.0);
}

void page_timeline(json_t *page, struct cs_store *store)
{
    const struct interval_filter all = {0};
    struct interval_matrix m;
    struct cs_error ignored = {0};
    json_t *charts = json_array(), *phases = json_array();
    if (interval_matrix_of(&m, store, &all, &ignored) == 0) {
        struct cs_phase *found = calloc(m.n_intervals + 1, sizeof *found);
        int64_t n =
            found ? cs_phases_find(m.counts, m.n_intervals, m.n_procedures, CS_PHASE_DISTANCE, found) : 0;
        json_array_append_new(charts, shares_chart(&m));
        json_array_append_new(charts, samples_chart(&m));
        for (int64_t i = 0; i < n && i < PHASES_MAX; i++)
            json_array_append_new(phases, phase_json(&m, &found[i]));
        free(found);
        interval_matrix_close(&m);
    }
    json_object_set_new(page, "timeline", charts);
    json_object_set_new(page, "phases", phases);
}
