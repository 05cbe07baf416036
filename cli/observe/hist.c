/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hist: the distribution of a rate at its own sampling period and at coarser ones. Also one rate against another.
 * shim-2015 figures 1, 4, 14 to 17. */
#include "cli/observe/measured_sections.h"
#include "cli/observe/observed_source.h"
#include "cli/observe/overlay.h"
#include "cli/observe/series.h"
#include "observer/source/events.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double rate_edge(unsigned bin)
{
    return bin >= CS_DTE_RATE_BINS ? 2 * cs_dte_rate_bin_least(CS_DTE_RATE_BINS - 1)
                                   : cs_dte_rate_bin_least(bin);
}

struct pairing { /* of two counters of a log */
    unsigned x, b;
    bool hardware;
    const uint64_t *under; /* only intervals that begin and end with it as the first tag; NULL: all */
    struct cs_joint joint[CS_DTE_RATE_BINS];
};

static void pair_interval(void *arg, const struct cs_sample *from, const struct cs_sample *to,
                          enum cs_dte_verdict verdict)
{
    struct pairing *p = arg;
    uint64_t cycles = p->hardware ? to->start - from->start : to->end - from->end; /* as the sink has it */
    uint64_t x = to->counters[p->x] - from->counters[p->x], b = to->counters[p->b] - from->counters[p->b];
    if ((verdict != CS_DTE_KEPT && verdict != CS_DTE_TAG) || !cycles || (int64_t)(x | b) < 0)
        return;
    if (p->under && (from->tags[0] != *p->under || to->tags[0] != *p->under))
        return;
    struct cs_joint *joint = &p->joint[cs_dte_rate_bin((double)x / (double)cycles)];
    joint->cycles += cycles;
    joint->events[p->b] += b;
}

/* Mean rate of `b` in intervals of each rate of `x`, as `joint` has them. */
static void against(struct output *out, const struct observed *o, const struct cs_joint *joint, unsigned x,
                    unsigned b)
{
    static const struct column columns[] = {
        {.key = "from", .head = "from", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "to", .head = "to", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "percent", .head = "% of TSC cycles", .kind = COLUMN_SHARE},
        {.key = "mean", .head = "mean", .kind = COLUMN_NUMBER, .digits = 4},
        {.key = "bar", .head = "", .kind = COLUMN_TEXT},
    };
    double cycles[CS_DTE_RATE_BINS], most = 0, outside;
    for (unsigned i = 0; i < CS_DTE_RATE_BINS; i++)
        cycles[i] = (double)joint[i].cycles;
    struct histogram_row rows[24];
    double means[24] = {0};
    unsigned n = histogram_rows(cycles, CS_DTE_RATE_BINS, rate_edge, 24, rows, &outside);
    for (unsigned r = 0; r < n; r++) {
        double sum = 0, events = 0;
        for (unsigned i = 0; i < CS_DTE_RATE_BINS; i++)
            if (rows[r].most == 0 ? i == 0
                                  : i && rate_edge(i) >= rows[r].least && rate_edge(i) < rows[r].most) {
                sum += cycles[i];
                events += (double)joint[i].events[b];
            }
        means[r] = sum > 0 ? events / sum : 0;
        most = fmax(most, means[r]);
    }
    output_line(out, "%s per 1000 TSC cycles in intervals by their %s per 1000", o->counters[b],
                o->counters[x]);
    struct table *table = output_table(out, "joint", columns, 5);
    for (unsigned r = 0; r < n; r++) {
        char bar[3 * 30 + 1];
        bar_draw(bar, most > 0 ? means[r] / most : 0, 30);
        table_number(table, rows[r].least * 1000);
        table_number(table, rows[r].most * 1000);
        table_number(table, 100 * rows[r].share);
        table_number(table, means[r] * 1000);
        table_text(table, bar);
    }
}

static const struct column period_columns[] = {
    {.key = "subsample", .head = "every", .kind = COLUMN_COUNT},
    {.key = "period_cycles", .head = "TSC cycles", .kind = COLUMN_NUMBER, .digits = -1},
    {.key = "intervals", .head = "kept", .kind = COLUMN_COUNT},
    {.key = "kept_percent", .head = "%", .kind = COLUMN_SHARE, .spare = true},
    {.key = "mean", .head = "mean", .kind = COLUMN_NUMBER, .digits = 3},
    {.key = "deviation", .head = "std dev", .kind = COLUMN_NUMBER, .digits = 3},
    {.key = "p1", .head = "1 %", .kind = COLUMN_NUMBER, .digits = 3},
    {.key = "p10", .head = "10 %", .kind = COLUMN_NUMBER, .digits = 3},
    {.key = "p50", .head = "median", .kind = COLUMN_NUMBER, .digits = 3},
    {.key = "p90", .head = "90 %", .kind = COLUMN_NUMBER, .digits = 3},
    {.key = "p99", .head = "99 %", .kind = COLUMN_NUMBER, .digits = 3},
};

/* `under` NULL: of the whole run, else of that value of the first tag. */
static void period_row(struct table *table, unsigned every, const struct observed *o, unsigned c,
                       const uint64_t *under)
{
    static const uint64_t nothing[CS_DTE_RATE_BINS];
    static const double shares[] = {0.01, 0.1, 0.5, 0.9, 0.99};
    const struct cs_sink *s = o->sink;
    const struct cs_tag_row *row = under ? cs_tags_find(s->tags[0], *under) : &s->whole_run;
    const uint64_t *bins = !under             ? s->rates[c]
                           : row && row->bins ? &row->bins[c * CS_DTE_RATE_BINS]
                                              : nothing;
    uint64_t intervals = cs_dte_tally_intervals(&s->tally), kept = row ? row->kept : 0;
    table_count(table, every);
    table_number(table, cs_dte_cycle_quantile(s->periods, 0.5));
    table_count(table, kept);
    table_number(table, intervals ? 100 * (double)kept / (double)intervals : 0);
    if (!kept) { /* a coarse sampler never had two samples of it together */
        table_none(table, 2 + sizeof shares / sizeof shares[0]);
        return;
    }
    struct cs_dte_moments m = cs_sink_rate(s, row, c);
    const double scale = series_scale(o, c);
    table_number(table, m.mean * scale);
    table_number(table, cs_dte_moments_deviation(&m) * scale);
    for (unsigned i = 0; i < sizeof shares / sizeof shares[0]; i++)
        table_number(table, cs_dte_rate_quantile(bins, shares[i]) * scale);
}

static int no_counter(const struct observed *o, const char *name)
{
    return name ? failed_with("%s was observed without a counter %s%s", o->program, name,
                              observed_counter_meant(o, name).text)
                : failed_with("%s was observed without a counter", o->program);
}

static int no_value(const struct observed *o, const char *name)
{
    return o->sink->n_tags
               ? failed_with("%s was never seen as a value of the first tag, %s, which tags lists%s", name,
                             o->tags[0], observed_value_meant(o, 0, name).text)
               : failed_with("%s was observed without a tag", o->program);
}

/* --counter, or else the first --ratio; NULL: neither. */
static const char *series_asked(const struct parsed *args)
{
    const char *counter = option(args, "counter");
    return counter ? counter : option_nth(args, "ratio", 0);
}

/* The same log at several periods, one row each. */
static int coarser(const struct parsed *args, struct output *out, const char *counter, unsigned *periods,
                   unsigned n)
{
    struct table *table = NULL;
    const char *under = option(args, "under");
    uint64_t value = 0;
    for (unsigned i = 0; i < n; i++) {
        struct observed_source source;
        int rc = observed_open_every(args, periods[i], &source);
        if (rc)
            return rc;
        int c = series_find(&source.view, counter);
        if (!table && under &&
            (source.view.sink->n_tags == 0 || !observed_named(&source.view, 0, under, &value))) {
            rc = no_value(&source.view, under);
            observed_close(&source);
            return rc;
        }
        if (!table && c >= 0) {
            output_line(out, "%s%s%s, only every n-th sample of the log",
                        series_title(&source.view, (unsigned)c).text, under ? " under " : "",
                        under ? under : "");
            table = output_table(out, "periods", period_columns,
                                 sizeof period_columns / sizeof period_columns[0]);
        }
        if (c >= 0)
            period_row(table, periods[i], &source.view, (unsigned)c, under ? &value : NULL);
        else
            rc = no_counter(&source.view, counter);
        observed_close(&source);
        if (rc)
            return rc;
    }
    return CS_EXIT_OK;
}

static const struct column effect_columns[] = {
    {.key = "event", .head = "per 1000 TSC cycles", .kind = COLUMN_TEXT, .elastic = true},
    {.key = "total", .head = "total", .kind = COLUMN_NUMBER, .digits = 3},
    {.key = "program", .head = "program", .kind = COLUMN_NUMBER, .digits = 3},
    {.key = "observer", .head = "observer", .kind = COLUMN_NUMBER, .digits = 3},
    {.key = "observer_p1", .head = "its 1 %", .kind = COLUMN_NUMBER, .digits = 3},
    {.key = "observer_p50", .head = "median", .kind = COLUMN_NUMBER, .digits = 3},
    {.key = "observer_p99", .head = "99 %", .kind = COLUMN_NUMBER, .digits = 3},
};

/* Counter whose observer's share is counter `own`, -1 none. */
static int whole_of(const struct observed *o, unsigned own)
{
    const char *name = o->counters[own], *suffix = strstr(name, CS_EVENT_OWN_SUFFIX);
    size_t length = suffix ? (size_t)(suffix - name) : 0;
    for (unsigned c = 0; length && c < own; c++)
        if (strncmp(o->counters[c], name, length) == 0 &&
            (o->counters[c][length] == '\0' || o->counters[c][length] == ':'))
            return (int)c;
    return -1;
}

/* The observer's own rate beside the total (shim-2015 figure 6): what observing adds, and how steadily. */
static int observer_effect(struct output *out, const struct observed *o)
{
    struct table *table = NULL;
    const struct cs_sink *s = o->sink;
    for (unsigned own = 0; own < s->n_counters; own++) {
        int whole = whole_of(o, own);
        if (whole < 0)
            continue;
        if (!table)
            table = output_table(out, "observer_effect", effect_columns,
                                 sizeof effect_columns / sizeof effect_columns[0]);
        double mine = cs_tag_rate(&s->whole_run, own).mean,
               seen = cs_tag_rate(&s->whole_run, (unsigned)whole).mean;
        const char *modifiers = strrchr(o->counters[whole], ':');
        bool core = modifiers && strchr(modifiers, 't'); /* the core's: both of us are in it */
        table_text(table, o->counters[whole]);
        table_number(table, 1000 * (core ? seen : seen + mine));
        table_number(table, 1000 * (core ? seen - mine : seen));
        table_number(table, 1000 * mine);
        table_number(table, 1000 * cs_dte_rate_quantile(s->rates[own], 0.01));
        table_number(table, 1000 * cs_dte_rate_quantile(s->rates[own], 0.5));
        table_number(table, 1000 * cs_dte_rate_quantile(s->rates[own], 0.99));
    }
    if (!table)
        return failed_with(
            "%s was observed without the observer's own share; observe -e EVENTS --observer-effect counts it",
            o->program);
    for (unsigned c = 0; c < cs_sink_series(s); c++)
        observed_histogram(out, o, c, NULL);
    return CS_EXIT_OK;
}

/* Of a log any two counters; a store has sums by the first one's rate alone. */
static int counters_against(const struct parsed *args, struct output *out, struct observed_source *of,
                            unsigned x, unsigned b, const uint64_t *under, unsigned subsample)
{
    const struct observed *o = &of->view;
    const char *log = option(args, "log");
    if (!log && under)
        return failed_with("a store has the rates of two counters only for all intervals: give --log FILE, "
                           "written by observe --log, or no --under");
    if (!log && x != 0)
        return failed_with(
            "a store has rates only by the first counter's, %s: give --log FILE, written by observe --log",
            o->counters[0]);
    if (!log) {
        against(out, o, o->sink->joint, 0, b);
        return CS_EXIT_OK;
    }
    struct pairing *pairing = calloc(1, sizeof *pairing);
    struct cs_error err = {0};
    struct cs_observe_log_reader *reader;
    if (!pairing)
        return failed_with("out of memory");
    int rc = cs_observe_log_open(log, &reader, &err);
    if (rc < 0) {
        free(pairing);
        return failed(&err);
    }
    *pairing = (struct pairing){
        .x = x, .b = b, .under = under, .hardware = cs_observe_log_reader_head(reader)->n_hardware > 0};
    cs_observe_log_reader_close(reader);
    struct cs_observe_replay_options replay = {
        .rule = cs_dte_paper_rule(), .subsample = subsample, .visit = pair_interval, .arg = pairing};
    replay.rule.gap_cycles = 0;
    struct observed_source source;
    rc = observed_open_log(log, &replay, &source);
    if (rc == CS_EXIT_OK) {
        against(out, o, pairing->joint, x, b);
        observed_close(&source);
    }
    free(pairing);
    return rc;
}

static int one_histogram(const struct parsed *args, struct output *out, unsigned subsample)
{
    struct observed_source source;
    int rc = observed_open(args, NULL, &source);
    if (rc)
        return rc;
    const struct observed *o = &source.view;
    const char *counter = series_asked(args), *other = option(args, "against"),
               *under = option(args, "under");
    int c = series_find(o, other && !counter && o->sink->n_counters ? o->counters[0] : counter),
        b = other ? series_find(o, other) : -1;
    uint64_t value;
    if (c < 0)
        rc = no_counter(o, counter);
    else if (other && b < 0)
        rc = no_counter(o, other);
    else if (other && b == c)
        rc = failed_with("--against takes another counter than %s, whose rate the rows are by",
                         o->counters[c]);
    else if (other && ((unsigned)c >= o->sink->n_counters || (unsigned)b >= o->sink->n_counters))
        rc = failed_with("--against takes two counters, no ratio");
    else if (under && (o->sink->n_tags == 0 || !observed_named(o, 0, under, &value)))
        rc = no_value(o, under);
    if (rc == CS_EXIT_OK) {
        output_line(out, "%s", o->program);
        output_set(out, "program", json_text(o->program));
        if (option_given(args, "observer-effect"))
            rc = observer_effect(out, o);
        else if (other)
            rc = counters_against(args, out, &source, (unsigned)c, (unsigned)b, under ? &value : NULL,
                                  subsample);
        else
            observed_histogram(out, o, (unsigned)c, under ? &value : NULL);
        if (rc == CS_EXIT_OK && under)
            observed_namesakes(out, o, 0, under, value);
    }
    observed_close(&source);
    return rc;
}

/* --range A..B, --bins N: 0 bins = those of a store. */
static int read_bins(const struct parsed *args, double *least, double *most, unsigned *n)
{
    const char *range = option(args, "range");
    char *end;
    *n = (unsigned)option_number(args, "bins", range ? 500 : 0, 1, OVERLAY_BINS_MAX);
    if (!range)
        return *n ? usage_error("--bins needs --range A..B, in the unit of the rate") : CS_EXIT_OK;
    const char *dots = strstr(range, "..");
    char first[32] = "";
    if (dots && dots - range < (int)sizeof first)
        memcpy(first, range, (size_t)(dots - range));
    *least = strtod(first, &end);
    bool bad = !*first || *end;
    *most = bad ? 0 : strtod(dots + 2, &end);
    if (bad || *end || !(*most > *least) || *least < 0)
        return usage_error("--range %s: expected A..B in the unit of the rate, A below B", range);
    return CS_EXIT_OK;
}

/* Several logs, before and after filtering, or bins of one width. */
static int beside(const struct parsed *args, struct output *out)
{
    struct overlay o;
    double least = 0, most = 0;
    unsigned bins, logs = 0;
    int rc = read_bins(args, &least, &most, &bins);
    if (rc)
        return rc;
    if (overlay_init(&o, least, most, bins) < 0)
        return failed_with("out of memory for the bins");
    const char *counter = series_asked(args), *log;
    while (rc == CS_EXIT_OK && (log = option_nth(args, "log", logs++))) {
        bool filter = option_given(args, "filter");
        for (int unfiltered = filter; rc == CS_EXIT_OK && unfiltered >= 0; unfiltered--) {
            char name[64];
            const char *base = strrchr(log, '/');
            snprintf(name, sizeof name, "%.45s%s", base ? base + 1 : log,
                     !filter      ? ""
                     : unfiltered ? ", before"
                                  : ", filtered");
            struct overlay_series *s = overlay_add(&o, name);
            rc = s ? overlay_count_log(&o, s, log, counter, option(args, "under"), unfiltered)
                   : usage_error("--log: at most %d%s", filter ? OVERLAY_MAX / 2 : OVERLAY_MAX,
                                 filter ? " with --filter" : "");
        }
    }
    if (rc == CS_EXIT_OK)
        overlay_print(out, &o);
    overlay_fini(&o);
    return rc;
}

/* How long it was from sample to sample, and from the end of one to the next (shim-2015 figure 5). */
static int periods_and_gaps(const struct parsed *args, struct output *out)
{
    struct observed_source source;
    struct overlay o;
    int rc = observed_open(args, NULL, &source);
    if (rc)
        return rc;
    if (overlay_init_cycles(&o) < 0) {
        observed_close(&source);
        return failed_with("out of memory for the bins");
    }
    const uint64_t *counts[2] = {source.view.sink->periods, source.view.sink->gaps};
    static const char *const names[2] = {"period", "gap"};
    snprintf(o.what, sizeof o.what,
             "TSC cycles from sample to sample (period), and from its end to the next (gap)");
    for (unsigned i = 0; i < 2; i++) {
        struct overlay_series *s = overlay_add(&o, names[i]);
        for (unsigned b = 0; s && b < CS_DTE_CYCLE_BINS; b++) {
            double n = (double)counts[i][b], value = cs_dte_cycle_bin_middle(b);
            s->bins[b] = n;
            s->intervals += n;
            s->weight += n;
            s->sum += n * value;
            s->squares += n * value * value;
        }
    }
    overlay_print(out, &o);
    overlay_fini(&o);
    observed_close(&source);
    return CS_EXIT_OK;
}

static int run(const struct parsed *args)
{
    unsigned periods[SUBSAMPLES_MAX], n;
    int wrong = observed_subsamples(args, periods, &n);
    if (wrong)
        return wrong;
    bool several = option_nth(args, "log", 1) || option_given(args, "filter") ||
                   option_given(args, "range") || option_given(args, "bins");
    if (several && !option_given(args, "log"))
        return usage_error(
            "--filter, --range and --bins need all samples: give --log FILE, written by observe --log");
    if (several && (n || option_given(args, "against") || option_given(args, "periods") ||
                    option_given(args, "observer-effect")))
        return usage_error("several logs, --filter, --range and --bins are for all samples of one rate: "
                           "without --subsample, --against, --periods and --observer-effect");
    const bool pair = option_given(args, "against");
    if (pair && n > 1)
        return usage_error("--against takes one --subsample: each is a table of its own");
    struct output *out = output_open(args);
    const char *sections = option(args, "sections");
    int rc = sections                        ? measured_sections_print(out, sections, option(args, "counter"))
             : several                       ? beside(args, out)
             : option_given(args, "periods") ? periods_and_gaps(args, out)
             : n && !pair                    ? coarser(args, out, series_asked(args), periods, n)
                                             : one_histogram(args, out, n ? periods[0] : 1);
    if (rc == CS_EXIT_OK)
        return output_close(out);
    output_drop(out);
    return rc;
}

static const struct option_entry options[] = {
    {"counter", 0, "NAME", "which counter (default: the first); with --sections, which section"},
    {"under", 'u', "VALUE",
     "only intervals with this value of the first tag, by name, its unique beginning, or number"},
    {"against", 0, "NAME", "mean rate of this counter for each rate of --counter (of a log: any two)"},
    OPTION_OBSERVER_EFFECT,
    OPTION_SUBSAMPLE,
    {"filter", 0, NULL, "with --log: compare the rates before and after double-time-error filtering"},
    {"range", 0, "A..B", "with --log: bins of equal width between these rates"},
    {"bins", 0, "N", "number of bins (500)"},
    {"periods", 0, NULL, "instead of rates, the periods between samples and the gaps"},
    {"sections", 0, "FILE", "sections that a program measured itself (cyclescope_measure.h, cs_sites_write)"},
    OPTIONS_OBSERVED,
    {NULL, 0, NULL, NULL},
};

const struct command command_hist = {
    "hist",
    "",
    "how a rate was distributed over the intervals between two samples",
    "Rates are events per 1000 TSC cycles, or IPC where instructions and cycles were counted. They are of "
    "the intervals that double-time-error filtering kept. With --subsample the same samples show what a "
    "coarser sampler would have seen: the distribution narrows towards the mean. Several --log compare "
    "several runs.",
    options,
    run,
};
