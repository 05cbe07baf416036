/* SPDX-License-Identifier: GPL-2.0-or-later */
/* phases: rates of procedures over time, and the stretches in which a program did one kind of work.
 * sprof-1998 section 4.4. */
#include "analysis/statistics/phase.h"
#include "cli/command/figures.h"
#include "cli/command/time_range.h"
#include "cli/output/output.h"
#include "cli/profile/phases/event_rates.h"
#include "cli/profile/phases/interval_matrix.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TOP_OF_A_PHASE 3
#define CURVE_COLUMNS 60 /* on a terminal what the names leave, but */
#define CURVE_MIN 24
#define BESIDE_CURVE 52 /* columns */

static uint64_t interval_samples(const struct interval_matrix *m, size_t interval)
{
    return m->event_counts[interval * m->n_events + m->main_event];
}

static void put_name(struct table *table, const char *procedure)
{
    const char *tab = strchr(procedure, '\t');
    table_textf(table, "%.*s", (int)(tab - procedure), procedure);
    table_text(table, tab + 1);
}

static int put_procedures(struct output *out, const struct interval_matrix *m, size_t most)
{
    static const struct column columns[] = {
        {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
        {.key = "samples", .head = "samples", .kind = COLUMN_COUNT},
        {.key = "curve", .head = "share of each interval", .kind = COLUMN_TEXT},
        {.key = "procedure", .head = "function", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "image", .head = "image", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "by_interval", .kind = COLUMN_JSON},
    };
    double *shares = calloc(m->n_intervals, sizeof *shares);
    char curve[4 * CURVE_COLUMNS];
    uint64_t total = 0;
    if (!shares)
        return -1;
    size_t width = CURVE_COLUMNS;
    if (isatty(STDOUT_FILENO) && terminal_columns() < CURVE_COLUMNS + BESIDE_CURVE)
        width = terminal_columns() < CURVE_MIN + BESIDE_CURVE ? CURVE_MIN : terminal_columns() - BESIDE_CURVE;
    struct table *table = output_table(out, "procedures", columns, 6);
    for (size_t p = 0; p < m->n_procedures; p++)
        total += m->totals[p];
    for (size_t p = 0; p < m->n_procedures && m->totals[p]; p++) {
        json_t *series = json_array();
        for (size_t i = 0; i < m->n_intervals; i++) {
            uint64_t samples = m->counts[i * m->n_procedures + p], all = interval_samples(m, i);
            shares[i] = all ? (double)samples / (double)all : 0;
            if (output_form(out) == OUTPUT_JSON)
                json_array_append_new(series, json_integer((json_int_t)samples));
        }
        curve_draw(curve, shares, m->n_intervals, width);
        table_number(table, 100 * (double)m->totals[p] / (double)total);
        table_count(table, m->totals[p]);
        table_text(table, curve);
        put_name(table, m->procedures[p]);
        table_json(table, series);
    }
    table_limit(table, most, "--top 0 shows all");
    free(shares);
    return 0;
}

/* The procedures that took most of a stretch, as "a 60 %, b 20 %". */
static void describe(char *text, size_t capacity, const struct interval_matrix *m,
                     const struct cs_phase *phase)
{
    uint64_t *sums = calloc(m->n_procedures, sizeof *sums);
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = phase->first; sums && i < phase->first + phase->n; i++)
        for (size_t p = 0; p < m->n_procedures; p++)
            sums[p] += m->counts[i * m->n_procedures + p];
    for (unsigned k = 0; sums && k < TOP_OF_A_PHASE && phase->samples; k++) {
        size_t best = 0;
        for (size_t p = 1; p < m->n_procedures; p++)
            best = sums[p] > sums[best] ? p : best;
        double percent = 100 * (double)sums[best] / (double)phase->samples;
        if (percent < 1)
            break;
        const char *name = m->procedures[best];
        int n = snprintf(text + used, capacity - used, "%s%.*s %.0f %%", k ? ", " : "",
                         (int)strcspn(name, "\t") > 60 ? 60 : (int)strcspn(name, "\t"), name, percent);
        if (n < 0 || used + (size_t)n >= capacity)
            break;
        used += (size_t)n;
        sums[best] = 0;
    }
    free(sums);
}

/* "B": 26 letters, then "B2", "B3", ...; "-" = idle. */
static void phase_name(unsigned number, char name[16])
{
    if (number == CS_PHASE_IDLE)
        strcpy(name, "-");
    else if (number < 26)
        snprintf(name, 16, "%c", (char)('A' + number));
    else
        snprintf(name, 16, "%c%u", (char)('A' + number % 26), number / 26 + 1);
}

/* Events a second of a stretch; clocks in ns become CPUs kept busy. */
static double rate_of(const struct interval_matrix *m, const struct cs_phase *phase, unsigned event)
{
    uint64_t samples = 0;
    for (size_t i = phase->first; i < phase->first + phase->n; i++)
        samples += m->event_counts[i * m->n_events + event];
    double seconds = (double)phase->n * (double)m->length_ms / 1000;
    double events = (double)samples * m->mean_period[event];
    return strcmp(m->units[event], "ns") == 0 ? events / 1e9 / seconds : events / seconds;
}

/* With the day where that is another than the first one's. */
static const char *clock_time(uint64_t ms, uint64_t first_ms, char text[32])
{
    const time_t at = (time_t)(ms / 1000), first = (time_t)(first_ms / 1000);
    struct tm tm = {0}, of_first = {0};
    localtime_r(&at, &tm);
    localtime_r(&first, &of_first);
    strftime(text, 32, tm.tm_yday == of_first.tm_yday ? "%H:%M:%S" : "%m-%d %H:%M:%S", &tm);
    return text;
}

static void put_phases(struct output *out, const struct interval_matrix *m, const struct cs_phase *phases,
                       size_t n, char heads[INTERVAL_EVENTS_MAX][80])
{
    static struct column columns[7 + INTERVAL_EVENTS_MAX];
    unsigned c = 0;
    columns[c++] = (struct column){.key = "phase", .head = "phase", .kind = COLUMN_TEXT};
    columns[c++] = (struct column){.key = "from", .head = "from", .kind = COLUMN_TEXT};
    columns[c++] = (struct column){.key = "from_s", .head = "from s", .kind = COLUMN_NUMBER, .digits = 1};
    columns[c++] = (struct column){.key = "length_s", .head = "for s", .kind = COLUMN_NUMBER, .digits = 1};
    columns[c++] = (struct column){.key = "samples", .head = "samples", .kind = COLUMN_COUNT};
    for (unsigned e = 0; e < m->n_events; e++) {
        bool is_clock = strcmp(m->units[e], "ns") == 0;
        snprintf(heads[e], sizeof heads[e], "%s%s", is_clock ? "busy CPUs" : m->events[e],
                 is_clock ? "" : "/s");
        columns[c++] = (struct column){
            .key = m->events[e], .head = heads[e], .group = "rates", .kind = COLUMN_NUMBER, .digits = 2};
    }
    columns[c++] = (struct column){
        .key = "mostly", .head = "mostly", .kind = COLUMN_TEXT, .elastic = true, .wraps = true};
    struct table *table = output_table(out, "phases", columns, c);
    for (size_t i = 0; i < n; i++) {
        char name[16], mostly[256], begins[32];
        phase_name(phases[i].number, name);
        describe(mostly, sizeof mostly, m, &phases[i]);
        table_text(table, name);
        uint64_t begins_ms = m->start_ms + phases[i].first * m->length_ms;
        table_textf(table, "%s", clock_time(begins_ms, m->start_ms, begins));
        table_number(table, (double)(phases[i].first * m->length_ms) / 1000);
        table_number(table, (double)(phases[i].n * m->length_ms) / 1000);
        table_count(table, phases[i].samples);
        for (unsigned e = 0; e < m->n_events; e++)
            table_number(table, m->mean_period[e] > 0 ? rate_of(m, &phases[i], e) : (double)NAN);
        table_text(table, mostly);
    }
    table_limit(table, 40, "--json has all");
}

/* --per EVENT: rates of the main event over that one. */
static int rates(const struct parsed *args, const char *per)
{
    struct interval_filter filter = {
        .epoch = recording_asked(args), .image = option(args, "image"), .event = option(args, "event")};
    struct interval_matrix above, below;
    struct cs_error err;
    if (interval_matrix_open(&above, store_location(args), &filter, &err) < 0)
        return failed(&err);
    filter.event = per;
    if (interval_matrix_open(&below, store_location(args), &filter, &err) < 0) {
        interval_matrix_close(&above);
        return failed(&err);
    }
    struct output *out = output_open(args);
    int rc = event_rates_print(out, &above, &below, (size_t)option_number(args, "top", 5, 0, 1e6));
    if (rc < 0)
        output_drop(out);
    interval_matrix_close(&above);
    interval_matrix_close(&below);
    return rc < 0 ? failed_with("not enough memory") : output_close(out);
}

static int run(const struct parsed *args)
{
    if (option_given(args, "per"))
        return option_given(args, "event") ? rates(args, option(args, "per"))
                                           : usage_error("--per needs --event, whose rate it is");
    struct interval_filter filter = {
        .epoch = recording_asked(args), .image = option(args, "image"), .event = option(args, "event")};
    struct interval_matrix m;
    struct cs_error err;
    char heads[INTERVAL_EVENTS_MAX][80], begin[48];
    double threshold = option_number(args, "distance", CS_PHASE_DISTANCE, 0, 1);
    size_t most = (size_t)option_number(args, "top", 10, 0, 1e6);
    if (interval_matrix_open(&m, store_location(args), &filter, &err) < 0)
        return failed(&err);
    struct cs_phase *phases = calloc(m.n_intervals, sizeof *phases);
    int64_t n = phases ? cs_phases_find(m.counts, m.n_intervals, m.n_procedures, threshold, phases) : -1;
    if (n < 0) {
        free(phases);
        interval_matrix_close(&m);
        return failed_with("not enough memory");
    }
    struct output *out = output_open(args);
    time_t start = (time_t)(m.start_ms / 1000);
    struct tm local = {0};
    localtime_r(&start, &local);
    strftime(begin, sizeof begin, "%Y-%m-%d %H:%M:%S %Z", &local);
    output_line(out, "%s interval%s of %s s from %s, %s", thousands((double)m.n_intervals).text,
                plural((double)m.n_intervals), figure((double)m.length_ms / 1000, 3).text, begin,
                m.events[m.main_event]);
    output_line(out, "%s", "");
    output_set(out, "start_ms", json_integer((json_int_t)m.start_ms));
    output_set(out, "interval_ms", json_integer((json_int_t)m.length_ms));
    output_set(out, "event", json_text(m.events[m.main_event]));
    int rc = put_procedures(out, &m, most);
    output_line(out, "%s", "");
    put_phases(out, &m, phases, (size_t)n, heads);
    if (rc < 0) {
        output_drop(out);
        rc = failed_with("not enough memory");
    } else {
        rc = output_close(out);
    }
    free(phases);
    interval_matrix_close(&m);
    return rc;
}

static const struct option_entry options[] = {
    OPTIONS_WHAT,
    OPTION_TOP,
    {"per", 0, "EVENT",
     "instead of phases, rates of --event per event of this kind, for the program and by function"},
    {"distance", 0, "D", "least distance of two phases, 0 to 1 (0.15)"},
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_phases = {
    "phases",
    "",
    "rates of functions over time, and the phases that a program goes through",
    "Needs intervals in the store: cyclescope record --intervals 1s, daemon start --intervals 10s.\n"
    "\n"
    "A phase is a time in which the distribution of samples over the functions stays the same. Phases with "
    "the same letter are one phase that came back. The distance of two phases is the total-variation "
    "distance of their sample distributions, corrected for sampling noise.",
    options,
    run,
};
