/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two matrices of one store, of an event each: their intervals are multiples of the same length, and procedures have the same
 * names. */
#include "cli/profile/phases/event_rates.h"
#include "cli/command/figures.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CURVE_COLUMNS = 60 };

void curve_draw(char *to, const double *shares, size_t n, size_t most)
{
    static const char *const heights[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    size_t columns = n < most ? n : most;
    *to = '\0';
    for (size_t c = 0; c < columns; c++) {
        size_t from = c * n / columns, end = (c + 1) * n / columns;
        double sum = 0;
        for (size_t i = from; i < end; i++)
            sum += shares[i];
        double share = sum / (double)(end - from);
        int height = (int)(share * 8 + 0.5);
        if (height == 0 && share > 0.005)
            height = 1;
        to = stpcpy(to, heights[height > 8 ? 8 : height]);
    }
}

/* Samples of a procedure in interval `interval` of `m`; procedure n_procedures is all of them. */
static double samples_in(const struct interval_matrix *m, size_t procedure, size_t interval)
{
    if (procedure > m->n_procedures || interval >= m->n_intervals)
        return 0;
    return (double)(procedure == m->n_procedures ? m->event_counts[interval * m->n_events + m->main_event]
                                                 : m->counts[interval * m->n_procedures + procedure]);
}

static size_t same_procedure(const struct interval_matrix *m, const char *name)
{
    for (size_t p = 0; p < m->n_procedures; p++)
        if (strcmp(m->procedures[p], name) == 0)
            return p;
    return SIZE_MAX;
}

struct series {
    double *rates, above, below; /* rates: NAN where there is none of the event below */
};

static void collect(struct series *s, const struct interval_matrix *above, size_t a,
                    const struct interval_matrix *below, size_t b, double scale)
{
    s->above = s->below = 0;
    for (size_t i = 0; i < below->n_intervals; i++) {
        uint64_t ms = below->start_ms + i * below->length_ms;
        double x = 0, y = samples_in(below, b, i);
        if (ms >= above->start_ms)
            x = samples_in(above, a, (size_t)((ms - above->start_ms) / above->length_ms));
        s->rates[i] = y > 0 ? scale * x / y : (double)NAN;
        s->above += x;
        s->below += y;
    }
}

static void put(struct output *out, struct table *table, const struct series *s, size_t n, double scale,
                const char *name)
{
    char curve[3 * CURVE_COLUMNS + 1];
    double most = 0;
    json_t *list = json_array();
    double *heights = calloc(n + 1, sizeof *heights);
    const char *tab = strchr(name, '\t');
    for (size_t i = 0; i < n; i++)
        most = isfinite(s->rates[i]) ? fmax(most, s->rates[i]) : most;
    for (size_t i = 0; i < n; i++) {
        if (heights && most > 0 && isfinite(s->rates[i]))
            heights[i] = s->rates[i] / most;
        if (output_form(out) == OUTPUT_JSON)
            json_array_append_new(list, isfinite(s->rates[i]) ? json_real(s->rates[i]) : json_null());
    }
    *curve = '\0';
    if (heights)
        curve_draw(curve, heights, n, CURVE_COLUMNS);
    free(heights);
    table_number(table, s->below > 0 ? scale * s->above / s->below : (double)NAN);
    table_count(table, (uint64_t)s->above);
    table_count(table, (uint64_t)s->below);
    table_text(table, curve);
    table_textf(table, "%.*s", tab ? (int)(tab - name) : (int)strlen(name), name);
    table_text(table, tab ? tab + 1 : "");
    table_json(table, list);
}

int event_rates_print(struct output *out, const struct interval_matrix *above,
                      const struct interval_matrix *below, size_t top)
{
    assert(above->main_event < above->n_events && below->main_event < below->n_events);
    const char *upper = above->events[above->main_event], *lower = below->events[below->main_event];
    static const struct column columns[] = {
        {.key = "rate", .head = "rate", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "above", .head = "samples", .kind = COLUMN_COUNT},
        {.key = "below", .head = "of the other", .kind = COLUMN_COUNT},
        {.key = "curve", .head = "of its highest, by interval", .kind = COLUMN_TEXT},
        {.key = "procedure", .head = "function", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "image", .head = "image", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "by_interval", .kind = COLUMN_JSON},
    };
    const bool clock = strcmp(below->units[below->main_event], "ns") == 0;
    double period = below->mean_period[below->main_event];
    double scale = period > 0 ? above->mean_period[above->main_event] / period * (clock ? 1e6 : 1) : 0;
    struct series s = {.rates = calloc(below->n_intervals + 1, sizeof *s.rates)};
    if (!s.rates)
        return -ENOMEM;
    output_line(out, "%s for each %s%s, %s interval%s of %s s", upper, clock ? "ms of " : "", lower,
                thousands((double)below->n_intervals).text, plural((double)below->n_intervals),
                figure((double)below->length_ms / 1000, 3).text);
    output_set(out, "event", json_text(upper));
    output_set(out, "per", json_text(lower));
    output_set(out, "start_ms", json_integer((json_int_t)below->start_ms));
    output_set(out, "interval_ms", json_integer((json_int_t)below->length_ms));
    struct table *table = output_table(out, "rates", columns, sizeof columns / sizeof *columns);
    collect(&s, above, above->n_procedures, below, below->n_procedures, scale);
    put(out, table, &s, below->n_intervals, scale, "[the whole program]");
    size_t most = output_form(out) == OUTPUT_TEXT && top ? top : SIZE_MAX, told = 0;
    for (size_t p = 0; p < below->n_procedures && below->totals[p]; p++) {
        if (++told > most)
            continue;
        collect(&s, above, same_procedure(above, below->procedures[p]), below, p, scale);
        put(out, table, &s, below->n_intervals, scale, below->procedures[p]);
    }
    table_limit(table, top ? top + 1 : 0, "--top 0 shows all");
    table_omitted(table, told > most ? told - most : 0);
    free(s.rates);
    return 0;
}
