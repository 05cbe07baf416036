/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/observe/overlay.h"
#include "store/base/text.h"

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
    struct overlay_series *s = o->n_series < OVERLAY_MAX ? &o->series[o->n_series] : NULL;
    if (!s || !(s->bins = calloc(o->n_bins, sizeof *s->bins)))
        return NULL;
    snprintf(s->name, sizeof s->name, "%.63s", name);
    o->n_series++;
    return s;
}

void overlay_count(const struct overlay *o, struct overlay_series *s, double value)
{
    unsigned low = 0, high = o->n_bins; /* the last bin whose edge is not above the value */
    if (o->n_bins == CS_DTE_RATE_BINS && o->edges[0] <= 0) { /* bin 0 has no width */
        low = cs_dte_rate_bin(value / PER);
        high = low + 1;
    }
    s->intervals++;
    s->sum += value;
    s->squares += value * value;
    if (value < o->edges[0] || value >= o->edges[o->n_bins])
        return;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (o->edges[middle] <= value)
            low = middle;
        else
            high = middle;
    }
    s->bins[low]++;
}

struct counting {
    const struct overlay *overlay;
    struct overlay_series *series;
    unsigned counter;
    bool unfiltered, hardware;
};

static void count_interval(void *arg, const struct cs_sample *from, const struct cs_sample *to,
                           enum cs_dte_verdict verdict)
{
    const struct counting *c = arg;
    uint64_t delta = to->counters[c->counter] - from->counters[c->counter];
    uint64_t cycles = c->hardware ? to->start - from->start : to->end - from->end; /* as the sink has it */
    if ((verdict == CS_DTE_KEPT || verdict == CS_DTE_TAG || (c->unfiltered && verdict == CS_DTE_SKEW)) &&
        cycles && (int64_t)delta >= 0)
        overlay_count(c->overlay, c->series, PER * (double)delta / (double)cycles);
}

int overlay_count_log(const struct overlay *o, struct overlay_series *s, const char *log, const char *counter,
                      bool unfiltered)
{
    struct cs_error err = {0};
    struct cs_observe_log_reader *reader;
    if (cs_observe_log_open(log, &reader, &err) < 0)
        return failed(&err);
    const struct cs_observe_log_head *head = cs_observe_log_reader_head(reader);
    unsigned n = head->n_software + head->n_hardware, index = 0;
    struct cs_resembling meant = {.word = counter ? counter : ""};
    for (; counter && index < n && strcmp(head->counters[index], counter) != 0; index++)
        cs_resembling_try(&meant, head->counters[index]);
    bool hardware = head->n_hardware > 0;
    cs_observe_log_reader_close(reader);
    if (index >= n)
        return failed_with("%s has no counter %s%s", log, counter ? counter : "at all",
                           cs_did_you_mean(&meant).text);
    struct counting counting = {o, s, index, unfiltered, hardware};
    struct cs_observe_replay_options replay = {
        .rule = cs_dte_paper_rule(), .visit = count_interval, .arg = &counting};
    replay.rule.gap_cycles = 0;
    struct observed_source source;
    int rc = observed_open_log(log, &replay, &source);
    if (rc == CS_EXIT_OK)
        observed_close(&source);
    return rc;
}

static double middle(const struct overlay *o, unsigned bin)
{
    return (o->edges[bin] + o->edges[bin + 1]) / 2;
}

static double quantile(const struct overlay *o, const struct overlay_series *s, double q)
{
    double all = 0, seen = 0;
    for (unsigned b = 0; b < o->n_bins; b++)
        all += s->bins[b];
    for (unsigned b = 0; b < o->n_bins; b++)
        if ((seen += s->bins[b]) > 0 && seen >= q * all)
            return middle(o, b);
    return 0;
}

static void print_series(struct output *out, const struct overlay *o)
{
    static const struct column columns[] = {
        {.key = "series", .head = "of", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "intervals", .head = "intervals", .kind = COLUMN_COUNT},
        {.key = "mean", .head = "mean", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "deviation", .head = "deviation", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "p1", .head = "1 %", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "p50", .head = "median", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "p99", .head = "99 %", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "distance", .head = "apart %", .kind = COLUMN_SHARE},
    };
    struct table *table = output_table(out, "series", columns, sizeof columns / sizeof columns[0]);
    for (unsigned i = 0; i < o->n_series; i++) {
        const struct overlay_series *s = &o->series[i];
        double mean = s->intervals > 0 ? s->sum / s->intervals : 0;
        double variance = s->intervals > 1 ? s->squares / s->intervals - mean * mean : 0;
        table_text(table, s->name);
        table_count(table, (uint64_t)s->intervals);
        table_number(table, mean);
        table_number(table, sqrt(fmax(0, variance)));
        table_number(table, quantile(o, s, 0.01));
        table_number(table, quantile(o, s, 0.5));
        table_number(table, quantile(o, s, 0.99));
        if (i == 0)
            table_none(table);
        else
            table_number(table, 100 * cs_dte_ks_distance(o->series[0].bins, s->bins, o->n_bins));
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
    int digits = o->edges[last + 1] < 100 ? 2 : -1;
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
