/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates are events per 1000 TSC cycles; shares are of TSC cycles. */
#include "cli/observe/observed.h"
#include "cli/command/figures.h"
#include "cli/observe/series.h"
#include "observer/sample/mixed.h"
#include "store/base/order.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAR_CELLS 40
#define EDGES_TOLD 0.02  /* two means that differ by so much */
#define ASKED_MISSED 1.2 /* by so much: it takes samples as fast as it can */
#define BAR_BYTES (3 * BAR_CELLS + 1)

void observed_value(const struct observed *o, unsigned tag, uint64_t value, char *to, size_t size)
{
    const char *name = value == CS_TAG_DESCHEDULED ? "(target not running)"
                       : value == CS_TAG_FURTHER   ? "(further values)"
                       : o->name                   ? o->name(o->arg, tag, value)
                                                   : NULL;
    if (name)
        snprintf(to, size, "%s", name);
    else if (value >= 1u << 20)
        snprintf(to, size, "0x%" PRIx64, value);
    else
        snprintf(to, size, "%" PRIu64, value);
}

static double in_time(double cycles, double hz, const char **unit)
{
    double ns = cycles * 1e9 / hz;
    *unit = ns < 1e3 ? "ns" : ns < 1e6 ? "µs" : ns < 1e9 ? "ms" : "s";
    return ns < 1e3 ? ns : ns < 1e6 ? ns / 1e3 : ns < 1e9 ? ns / 1e6 : ns / 1e9;
}

static const double shown_quantiles[] = {0.01, 0.5, 0.9, 0.99, 0.999};
static const char *const quantile_keys[] = {"p1", "p50", "p90", "p99", "p99.9"};
#define N_QUANTILES (sizeof shown_quantiles / sizeof shown_quantiles[0])

static json_t *quantiles_json(const uint64_t *counts)
{
    json_t *all = json_object();
    for (unsigned i = 0; i < N_QUANTILES; i++)
        json_object_set_new(all, quantile_keys[i],
                            json_real(cs_dte_cycle_quantile(counts, shown_quantiles[i])));
    return all;
}

static void quantiles_line(struct output *out, const char *what, const uint64_t *counts)
{
    char line[160];
    size_t n = (size_t)snprintf(line, sizeof line, "%-10s", what);
    for (unsigned i = 0; i < N_QUANTILES && n < sizeof line; i++)
        n += (size_t)snprintf(line + n, sizeof line - n, " %11.0f",
                              cs_dte_cycle_quantile(counts, shown_quantiles[i]));
    output_line(out, "%s", line);
}

void observed_summary(struct output *out, const struct observed *o)
{
    const struct cs_sink *s = o->sink;
    uint64_t total = cs_dte_tally_cycles(&s->tally), intervals = cs_dte_tally_intervals(&s->tally);
    double mean = intervals ? (double)total / (double)intervals : 0, unseen = (double)s->unseen_cycles;
    const char *unit, *gap_unit;
    char of_mean[48], of_time[48], of_gap[48];
    double mean_ns = in_time(mean, o->hz, &unit), longest = in_time((double)s->longest_gap, o->hz, &gap_unit);
    output_line(out, "%s", "");
    output_line(out, "%s sample%s in %.3f s, one every %s TSC cycles (%s %s)%s",
                thousands((double)s->samples).text, plural((double)s->samples), (double)total / o->hz,
                figures(mean, 4, of_mean), figures(mean_ns, 3, of_time), unit,
                o->timed_each ? "" : "; only the tag is read, the clock when it changes");
    if (o->asked_cycles)
        output_line(out, "asked for: one every %" PRIu64 " TSC cycles", o->asked_cycles);
    output_line(out, "%-10s %11s %11s %11s %11s %11s", "TSC cycles", "1 %", "median", "90 %", "99 %",
                "99.9 %");
    quantiles_line(out, "period", s->periods);
    quantiles_line(out, "gap", s->gaps);
    output_line(
        out, "%s %% of the time was not seen (%" PRIu64 " time%s descheduled or delayed, the longest %s %s)",
        figure(total ? 100 * unseen / (double)total : 0, 3).text, s->tally.intervals[CS_DTE_GAP],
        plural((double)s->tally.intervals[CS_DTE_GAP]), figures(longest, 3, of_gap), gap_unit);

    output_set(out, "program", json_text(o->program));
    output_set(out, "cycles_per_second", json_real(o->hz));
    output_set(out, "samples", json_integer((json_int_t)s->samples));
    output_set(out, "cycles", json_integer((json_int_t)total));
    output_set(out, "asked_period_cycles", json_integer((json_int_t)o->asked_cycles));
    output_set(out, "mean_period_cycles", json_real(mean));
    output_set(out, "unseen_cycles", json_integer((json_int_t)s->unseen_cycles));
    output_set(out, "longest_gap_cycles", json_integer((json_int_t)s->longest_gap));
    output_set(out, "period_cycles", quantiles_json(s->periods));
    output_set(out, "gap_cycles", quantiles_json(s->gaps));
}

void observed_filtering(struct output *out, const struct observed *o)
{
    static const struct column columns[] = {
        {.key = "verdict", .head = "intervals", .kind = COLUMN_TEXT},
        {.key = "intervals", .head = "number", .kind = COLUMN_COUNT},
        {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
        {.key = "cycles", .head = "TSC cycles", .kind = COLUMN_COUNT},
        {.key = "meaning", .head = "because", .kind = COLUMN_TEXT, .elastic = true, .wraps = true},
    };
    const struct cs_dte_tally *tally = &o->sink->tally;
    double all = (double)cs_dte_tally_intervals(tally);
    output_line(out, "%s", "");
    struct table *table = output_table(out, "filtering", columns, 5);
    for (enum cs_dte_verdict v = 0; v < CS_DTE_VERDICTS; v++) {
        if (tally->intervals[v] == 0 && v != CS_DTE_KEPT)
            continue;
        table_text(table, cs_dte_name(v));
        table_count(table, tally->intervals[v]);
        table_number(table, all > 0 ? 100 * (double)tally->intervals[v] / all : 0);
        table_count(table, tally->cycles[v]);
        table_text(table, cs_dte_meaning(v));
    }
}

CS_ORDER(by_cycles, const struct cs_tag_row *,
         cs_order((*a)->tag == CS_TAG_DESCHEDULED, (*b)->tag == CS_TAG_DESCHEDULED),
         cs_order((*b)->half_cycles, (*a)->half_cycles), cs_order((*a)->tag, (*b)->tag))

static void rate_cells(struct table *table, const struct observed *o, const struct cs_tag_row *row)
{
    for (unsigned c = 0; c < cs_sink_series(o->sink); c++) {
        struct cs_dte_moments m = cs_sink_rate(o->sink, row, c);
        if (row->kept == 0 || !(m.weight > 0)) {
            table_none(table, 2);
            continue;
        }
        table_number(table, cs_sink_mean(o->sink, row, c) * series_scale(o, c));
        table_number(table, cs_dte_moments_deviation(&m) * series_scale(o, c));
    }
}

/* Two columns of a series: its mean and deviation. Texts must outlive the output. */
static void series_columns(const struct observed *o, unsigned c, struct column *col, char heads[96],
                           char keys[2][96 + 64])
{
    const struct series_name name = series_name(o, c);
    const char *group = c < o->sink->n_counters ? "per_1000_cycles" : "ratios";
    const bool shown = !series_is_hidden(o, c);
    snprintf(heads, 96, "%.95s", series_head(o, c).text);
    snprintf(keys[0], 96 + 64, "%.140s", name.text);
    snprintf(keys[1], 96 + 64, "%.140s deviation", name.text);
    for (unsigned i = 0; i < 2; i++)
        col[i] = (struct column){.key = keys[i],
                                 .head = !shown ? NULL
                                         : i    ? "std dev"
                                                : heads,
                                 .group = group,
                                 .kind = COLUMN_NUMBER,
                                 .digits = series_scale(o, c) == 1 ? 3 : 2};
}

static const char *const rates_words[] = {
    [CS_RATES_OK] = "ok", [CS_RATES_TOO_FEW] = "few", [CS_RATES_ARE_MIXED] = "mixed"};

/* Values with at least 1 % of the time whose rates can't be believed. */
struct unusable {
    char names[2][200]; /* mixed, too few */
    double shorter;
};

static void add_unusable(struct unusable *u, const struct cs_rates_mixed *mixed, const char *name)
{
    if (mixed->usable == CS_RATES_OK)
        return;
    char *names = u->names[mixed->usable == CS_RATES_TOO_FEW];
    const size_t used = strlen(names), room = sizeof u->names[0] - used;
    if (strlen(name) + 10 < room)
        snprintf(names + used, room, "%s%s", used ? ", " : "", name);
    if (mixed->usable == CS_RATES_ARE_MIXED && mixed->shorter < u->shorter)
        u->shorter = mixed->shorter;
}

/* The shortest period that can be had: a usual short one where even that is longer than asked for, else what a reading
 * takes. */
static double least_period(const struct observed *o)
{
    double had = cs_dte_cycle_quantile(o->sink->periods, 0.1);
    double reading = cs_dte_cycle_quantile(o->sink->periods, 0.5) - cs_dte_cycle_quantile(o->sink->gaps, 0.5);
    return o->asked_cycles && had > ASKED_MISSED * (double)o->asked_cycles ? had : reading;
}

static void note_unusable(struct output *out, const struct observed *o, const struct unusable *u)
{
    const uint64_t intervals = cs_dte_tally_intervals(&o->sink->tally);
    const double period = intervals ? (double)cs_dte_tally_cycles(&o->sink->tally) / (double)intervals : 0;
    const double advised = fmax(1, floor(period * u->shorter)), least = least_period(o);
    char advice[160];
    if (advised < least)
        snprintf(
            advice, sizeof advice,
            "No period would do: one sample takes %.0f TSC cycles here. Tag fewer functions, without loops.",
            least);
    else
        snprintf(advice, sizeof advice, "Try --period %.0f.", advised);
    if (u->names[0][0])
        output_note(out,
                    "the rates of %s hold other tags' events: the tag changes too often for one sample every "
                    "%.0f TSC cycles. %s",
                    u->names[0], period, advice);
    if (u->names[1][0])
        output_note(out, "the rates of %s come from fewer than %d intervals", u->names[1], CS_RATES_FEW);
}

void observed_tags(struct output *out, const struct observed *o, unsigned tag, uint64_t top)
{
    assert(tag < o->sink->n_tags);
    /* Kept until the output is closed: columns are not copied. */
    static struct column columns[CS_TAGS_MAX][9 + 2 * CS_SERIES_MAX];
    static char heads[CS_SERIES_MAX][96], keys[CS_SERIES_MAX][2][96 + 64], tables[CS_TAGS_MAX][96];
    const struct cs_tags *tags = o->sink->tags[tag];
    unsigned n = 0, counters = o->sink->n_counters;
    struct column *col = columns[tag];
    col[n++] = (struct column){.key = "name", .head = o->tags[tag], .kind = COLUMN_TEXT, .elastic = true};
    col[n++] = (struct column){.key = "value", .kind = COLUMN_COUNT};
    col[n++] = (struct column){.key = "samples", .head = "samples", .kind = COLUMN_COUNT};
    col[n++] = (struct column){.key = "cycles", .head = "TSC cycles", .kind = COLUMN_COUNT};
    col[n++] = (struct column){.key = "percent", .head = "%", .kind = COLUMN_SHARE};
    col[n++] = (struct column){.key = "visits", .head = "visits", .kind = COLUMN_COUNT};
    col[n++] = (struct column){.key = "kept", .head = counters ? "kept" : NULL, .kind = COLUMN_COUNT};
    struct column *rates = &col[n++];
    *rates = (struct column){.key = "rates", .kind = COLUMN_TEXT};
    for (unsigned c = 0; c < cs_sink_series(o->sink); c++, n += 2)
        series_columns(o, c, &col[n], heads[c], keys[c]);
    const struct cs_tag_row **rows = malloc((tags->n_rows + 1) * sizeof *rows);
    if (!rows)
        return;
    size_t n_rows = tags->n_rows;
    for (size_t r = 0; r < n_rows; r++)
        rows[r] = &tags->rows[r];
    if (tags->overflow)
        rows[n_rows++] = &tags->rows[CS_TAG_ROWS - 1];
    cs_sort(rows, n_rows, by_cycles);
    double total = 0;
    uint64_t ran = 0;
    for (size_t r = 0; r < n_rows; r++) {
        total += rows[r]->tag == CS_TAG_DESCHEDULED ? 0 : (double)rows[r]->half_cycles;
        ran += rows[r]->tag == CS_TAG_DESCHEDULED ? 0 : rows[r]->samples;
    }

    for (size_t r = 0; r < n_rows && (!top || r < top); r++)
        if (rows[r]->tag != CS_TAG_DESCHEDULED && cs_rates_mixed(o->sink, rows[r], ran).usable != CS_RATES_OK)
            rates->head = "rates";
    output_line(out, "%s", "");
    snprintf(tables[tag], sizeof tables[tag], "tags%s", (const char *[]){"", "2", "3", "4"}[tag]);
    struct table *table = output_table(out, tables[tag], col, n);
    table_limit(table, top, "--top 0 shows all");
    struct unusable unusable = {.shorter = 1};
    for (size_t r = 0; r < n_rows; r++) {
        char name[256];
        const struct cs_rates_mixed mixed = cs_rates_mixed(o->sink, rows[r], ran);
        const bool is_away = rows[r]->tag == CS_TAG_DESCHEDULED;
        observed_value(o, tag, rows[r]->tag, name, sizeof name);
        table_text(table, name);
        table_count(table, rows[r]->tag);
        table_count(table, rows[r]->samples);
        table_count(table, rows[r]->half_cycles / 2);
        /* Shares are of the time that the target ran. */
        table_number(table, is_away     ? (double)NAN
                            : total > 0 ? 100 * (double)rows[r]->half_cycles / total
                                        : 0);
        table_count(table, rows[r]->visits);
        table_count(table, rows[r]->kept);
        table_text(table, is_away ? "" : rates_words[mixed.usable]);
        rate_cells(table, o, rows[r]);
        if (!is_away && (double)rows[r]->half_cycles >= 0.01 * total)
            add_unusable(&unusable, &mixed, name);
    }
    free(rows);
    note_unusable(out, o, &unusable);
    if (tags->most_lost && total > 0)
        output_note(out,
                    "%s has more values than the %d rows kept. Those with most time are shown; a row may "
                    "lack up to %s %% of the time.",
                    o->tags[tag], CS_TAG_ROWS - 1, figure(100 * (double)tags->most_lost / total, 2).text);
}

static double rate_edge(unsigned bin)
{
    return bin >= CS_DTE_RATE_BINS ? 2 * cs_dte_rate_bin_least(CS_DTE_RATE_BINS - 1)
                                   : cs_dte_rate_bin_least(bin);
}

static void histogram_json(struct output *out, const struct observed *o, unsigned series, const double *bins,
                           double n, const struct cs_dte_moments *rate, double median)
{
    json_t *list = json_array(), *all = json_object();
    const double scale = series_scale(o, series);
    for (unsigned b = 0; b < CS_DTE_RATE_BINS; b++)
        if (bins[b] > 0)
            json_array_append_new(list, json_pack("[f,f,I]", cs_dte_rate_bin_least(b) * scale,
                                                  rate_edge(b + 1) * scale, (json_int_t)bins[b]));
    json_object_set_new(all, "counter", json_text(series_name(o, series).text));
    json_object_set_new(all, "unit",
                        series < o->sink->n_counters ? json_string("events per 1000 cycles")
                                                     : json_text(series_title(o, series).text));
    json_object_set_new(all, "intervals", json_integer((json_int_t)n));
    json_object_set_new(all, "mean", json_real(rate->mean * scale));
    json_object_set_new(all, "deviation", json_real(cs_dte_moments_deviation(rate) * scale));
    json_object_set_new(all, "median", n > 0 ? json_real(median * scale) : json_null());
    json_object_set_new(all, "bins", list);
    char key[16];
    snprintf(key, sizeof key, "histogram%u", series);
    output_set(out, key, all);
}

/* For programs that read tables: all bins of all series, one below the other. */
static void histogram_csv(struct output *out, const struct observed *o, unsigned series, const double *bins,
                          double n)
{
    static const struct column columns[] = {
        {.key = "from", .kind = COLUMN_NUMBER},     {.key = "to", .kind = COLUMN_NUMBER},
        {.key = "intervals", .kind = COLUMN_COUNT}, {.key = "percent", .kind = COLUMN_SHARE},
        {.key = "counter", .kind = COLUMN_TEXT},
    };
    const double scale = series_scale(o, series);
    struct table *table = output_table(out, "bins", columns, sizeof columns / sizeof columns[0]);
    for (unsigned b = 0; b < CS_DTE_RATE_BINS; b++) {
        if (bins[b] <= 0)
            continue;
        table_number(table, cs_dte_rate_bin_least(b) * scale);
        table_number(table, rate_edge(b + 1) * scale);
        table_count(table, (uint64_t)bins[b]);
        table_number(table, 100 * bins[b] / n);
        table_text(table, series_name(o, series).text);
    }
}

/* The bins of a series, of one value of the first tag or of all kept intervals, and how they are distributed. */
static struct cs_dte_moments take_bins(const struct observed *o, unsigned series, const uint64_t *value,
                                       double bins[CS_DTE_RATE_BINS], double *median)
{
    const struct cs_sink *s = o->sink;
    const struct cs_tag_row *row = value ? cs_tags_find(s->tags[0], *value) : &s->whole_run;
    const uint64_t *counts = !value      ? s->rates[series]
                             : row->bins ? &row->bins[series * CS_DTE_RATE_BINS]
                                         : NULL;
    for (unsigned b = 0; b < CS_DTE_RATE_BINS; b++)
        bins[b] = counts ? (double)counts[b] : 0;
    *median = counts ? cs_dte_rate_quantile(counts, 0.5) : 0;
    return cs_sink_rate(s, row, series);
}

void observed_histogram(struct output *out, const struct observed *o, unsigned series, const uint64_t *value)
{
    double *bins = calloc(CS_DTE_RATE_BINS, sizeof *bins), n = 0, outside, median;
    if (!bins)
        return;
    char under[300] = "";
    const double scale = series_scale(o, series);
    if (value) {
        char name[256];
        observed_value(o, 0, *value, name, sizeof name);
        snprintf(under, sizeof under, " under %s %s", o->tags[0], name);
    }
    struct cs_dte_moments moments = take_bins(o, series, value, bins, &median);
    for (unsigned b = 0; b < CS_DTE_RATE_BINS; b++)
        n += bins[b];
    histogram_json(out, o, series, bins, n, &moments, median);
    if (output_form(out) == OUTPUT_CSV)
        histogram_csv(out, o, series, bins, n);
    output_line(out, "%s", "");
    output_line(out, "%s%s: %s interval%s, mean %s, std dev %s", series_title(o, series).text, under,
                thousands(n).text, plural(n), figure(moments.mean * scale, 4).text,
                figure(cs_dte_moments_deviation(&moments) * scale, 3).text);
    if (n > 0)
        output_line(out, "median %s", figure(median * scale, 4).text);
    struct histogram_row rows[24];
    unsigned n_rows = histogram_rows(bins, CS_DTE_RATE_BINS, rate_edge, 24, rows, &outside);
    double most = 0;
    for (unsigned r = 0; r < n_rows; r++)
        most = fmax(most, rows[r].share);
    for (unsigned r = 0; r < n_rows; r++) {
        char bar[BAR_BYTES];
        bar_draw(bar, rows[r].share / most, BAR_CELLS);
        if (rows[r].most == 0)
            output_line(out, "%23s %5.1f %% %s", "none               ", 100 * rows[r].share, bar);
        else
            output_line(out, "%10.4g … %-10.4g %5.1f %% %s", rows[r].least * scale, rows[r].most * scale,
                        100 * rows[r].share, bar);
    }
    if (outside > 0.00005)
        output_line(out, "%29.2f %% beyond", 100 * outside);
    const double mean = value ? cs_sink_mean(o->sink, cs_tags_find(o->sink->tags[0], *value), series) : 0;
    if (value && n > 0 && fabs(mean - moments.mean) > EDGES_TOLD * moments.mean)
        output_note(out,
                    "tags has a mean of %s: it also counts intervals in which the tag began or ended. They "
                    "are in no histogram.",
                    figure(mean * scale, 4).text);
    free(bins);
}
