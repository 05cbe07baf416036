/* SPDX-License-Identifier: GPL-2.0-or-later */
/* timeline: what an observed program did over time, from a sample log (shim-2015 figure 19). Of a recording with waits:
 * what its threads did (thread_lines.h). */
#include "observer/log/timeline.h"
#include "cli/command/figures.h"
#include "cli/observe/observed_source.h"
#include "cli/observe/thread_lines.h"
#include "cli/output/output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 24          /* buckets of the text table, unless asked for others */
#define ROWS_MACHINE 500 /* of JSON and CSV */
#define TAGS_SHOWN 4

static const char *name_of(void *arg, unsigned tag, uint64_t value)
{
    return cs_observe_log_reader_name_of(arg, tag, value);
}

/* "0.5..2" in seconds; either may be left out. */
static bool parse_range(const char *text, struct cs_observe_timeline_options *options)
{
    const char *dots = strstr(text, "..");
    char left[32], *end;
    if (!dots || (size_t)(dots - text) >= sizeof left)
        return false;
    memcpy(left, text, (size_t)(dots - text)); /* "5..6" is not 5. and .6 */
    left[dots - text] = '\0';
    options->from_seconds = strtod(left, &end);
    if (*end != '\0' || !(options->from_seconds >= 0))
        return false;
    options->to_seconds = strtod(dots + 2, &end);
    return *end == '\0' && (dots[2] == '\0' || options->to_seconds > options->from_seconds);
}

/* Columns and their keys must outlive the output. */
struct layout {
    struct column columns[4 + 4 * CS_SERIES_MAX + CS_TIMELINE_TAGS + 1];
    char heads[4 + 4 * CS_SERIES_MAX + CS_TIMELINE_TAGS + 1][96];
    char keys[4 + 4 * CS_SERIES_MAX + CS_TIMELINE_TAGS + 1][256];
    char names[CS_TIMELINE_TAGS + 1][256];
    unsigned n;
};

/* `head` NULL: not in the text. */
static void column(struct layout *l, enum column_kind kind, int digits, const char *group, const char *key,
                   const char *head, bool spare)
{
    snprintf(l->keys[l->n], sizeof l->keys[0], "%s", key);
    snprintf(l->heads[l->n], sizeof l->heads[0], "%s", head ? head : "");
    l->columns[l->n] = (struct column){.key = l->keys[l->n],
                                       .head = head ? l->heads[l->n] : NULL,
                                       .group = group,
                                       .kind = kind,
                                       .digits = digits,
                                       .spare = spare};
    l->n++;
}

/* Shown first, and as a bar: the first ratio, else the first counter. */
static unsigned main_series(const struct cs_observe_timeline *t)
{
    return t->n_ratios ? t->n_counters : 0;
}

/* In text a ratio takes the place of its counters. */
static bool is_hidden(const struct cs_observe_timeline *t, unsigned series, bool raw)
{
    bool hidden = false;
    for (unsigned r = 0; series < t->n_counters && r < t->n_ratios; r++)
        hidden |= t->ratios[r].of == series || t->ratios[r].per == series;
    return hidden && !raw;
}

static void series_columns(struct layout *l, const struct cs_observe_timeline *t, unsigned c, bool raw)
{
    char name[160], head[160];
    cs_observe_timeline_series(t, c, true, head, sizeof head);
    cs_observe_timeline_series(t, c, false, name, sizeof name);
    const bool counter = c < t->n_counters,
               alone = c == main_series(t) && (t->n_ratios || t->n_counters == 1);
    if (counter)
        snprintf(head, sizeof head, "%.60s/1000", name);
    column(l, COLUMN_NUMBER, 3, counter ? "mean_per_1000_cycles" : "mean_ratio", name,
           is_hidden(t, c, raw) ? NULL : head, false);
    column(l, COLUMN_NUMBER, 3, counter ? "least_per_1000_cycles" : "least_ratio", name,
           alone ? "least" : NULL, true);
    column(l, COLUMN_NUMBER, 3, counter ? "most_per_1000_cycles" : "most_ratio", name, alone ? "most" : NULL,
           true);
}

/* In text a series has its mean alone where there are several, and the main one has a bar. */
static void lay_out(struct layout *l, const struct cs_observe_timeline *t, bool raw)
{
    column(l, COLUMN_NUMBER, 3, NULL, "ms", "ms", false);
    column(l, COLUMN_SHARE, 0, NULL, "seen_percent", "seen %", false);
    for (unsigned i = 0; i <= t->n_tags && t->has_tag; i++) {
        const char *name = i < t->n_tags ? l->names[i] : "(others)";
        bool away = i < t->n_tags && t->tag_values[i] == CS_TAG_DESCHEDULED;
        column(l, COLUMN_SHARE, 0, "share_percent", name,
               away             ? "not running"
               : i < TAGS_SHOWN ? name
                                : NULL,
               away || i > 1);
    }
    column(l, COLUMN_COUNT, 0, NULL, "kept", t->n_counters ? "kept" : NULL, true);
    for (unsigned c = 0; c < t->n_counters + t->n_ratios; c++)
        series_columns(l, t, c, raw);
    column(l, COLUMN_TEXT, 0, NULL, "bar", t->n_counters ? "" : NULL, true);
}

static double highest_mean(const struct cs_observe_timeline *t)
{
    double most = 0;
    for (unsigned b = 0; b < t->n_buckets && t->n_counters; b++)
        most = fmax(most, t->buckets[b].rates[main_series(t)].mean);
    return most;
}

static void rate(struct table *table, double scale, double value)
{
    table_number(table, isnan(value) ? NAN : scale * value);
}

static void put_bucket(struct table *table, const struct cs_observe_timeline *t, unsigned b, double most)
{
    const struct cs_observe_timeline_bucket *bucket = &t->buckets[b];
    char bar[3 * 20 + 1] = "", name[160];
    table_number(table, cs_observe_timeline_ms(t, b));
    table_number(table, 100 * bucket->seen_cycles / t->bucket_cycles);
    for (unsigned i = 0; i <= t->n_tags && t->has_tag; i++) {
        double cycles = bucket->tag_cycles[i < t->n_tags ? i : CS_TIMELINE_TAGS];
        table_number(table, bucket->seen_cycles > 0 ? 100 * cycles / bucket->seen_cycles : NAN);
    }
    table_count(table, bucket->kept);
    for (unsigned c = 0; c < t->n_counters + t->n_ratios; c++) {
        double scale = cs_observe_timeline_series(t, c, false, name, sizeof name);
        rate(table, scale, bucket->rates[c].mean);
        rate(table, scale, bucket->rates[c].least);
        rate(table, scale, bucket->rates[c].most);
    }
    if (t->n_counters && most > 0 && bucket->rates[main_series(t)].mean > 0)
        bar_draw(bar, bucket->rates[main_series(t)].mean / most, 20);
    table_text(table, bar);
}

static int print(const struct parsed *args, const struct cs_observe_timeline *t,
                 struct cs_observe_log_reader *log, const struct cs_observe_timeline_options *options)
{
    struct layout *l = calloc(1, sizeof *l);
    if (!l)
        return failed_with("no memory");
    const struct observed view = {.name = name_of, .arg = log};
    for (unsigned i = 0; i < t->n_tags; i++)
        observed_value(&view, options->tag, t->tag_values[i], l->names[i], sizeof l->names[i]);
    lay_out(l, t, option_given(args, "raw"));
    struct output *out = output_open(args);
    char text[3][48];
    double ms = t->bucket_cycles * 1e3 / t->cycles_per_second;
    output_line(out, "%s: %u bucket%s of %s ms (%s TSC cycles) of %s s%s%s", t->head.program, t->n_buckets,
                plural(t->n_buckets), figures(ms, 4, text[0]), figures(t->bucket_cycles, 4, text[1]),
                figures(t->whole_cycles / t->cycles_per_second, 4, text[2]),
                t->has_tag ? "; shares of tag " : "", t->has_tag ? t->head.tags[options->tag] : "");
    output_set(out, "program", json_text(t->head.program));
    output_set(out, "bucket_ms", json_real(ms));
    output_set(out, "bucket_cycles", json_real(t->bucket_cycles));
    output_set(out, "log_seconds", json_real(t->whole_cycles / t->cycles_per_second));
    if (t->has_tag)
        output_set(out, "tag", json_text(t->head.tags[options->tag]));
    struct table *table = output_table(out, "timeline", l->columns, l->n);
    double most = highest_mean(t);
    for (unsigned b = 0; b < t->n_buckets; b++)
        put_bucket(table, t, b, most);
    if (cs_observe_log_cut_short(log))
        output_note(out, "the log was cut short: it ends where its writer did");
    int rc = output_close(out);
    free(l);
    return rc;
}

static int run(const struct parsed *args)
{
    const char *path = option(args, "log"), *range = option(args, "time"), *tag = option(args, "tag");
    bool machine = option_given(args, "json") || option_given(args, "csv");
    struct cs_observe_timeline_options options = {
        .buckets =
            (unsigned)option_number(args, "buckets", machine ? ROWS_MACHINE : ROWS, 1, CS_TIMELINE_BUCKETS)};
    struct cs_observe_timeline *t;
    struct cs_observe_log_reader *log;
    struct cs_error err;
    static const char *const of_threads[] = {"store", "epoch", "process", "threads"};
    for (size_t i = 0; path && i < sizeof of_threads / sizeof *of_threads; i++)
        if (option_given(args, of_threads[i]))
            return usage_error(
                "--%s is for threads of a recording, --log is what was observed: give one of them",
                of_threads[i]);
    if (!path && tag)
        return usage_error("--tag is for what was observed: give --log FILE, written by observe --log");
    if (range && !parse_range(range, &options))
        return usage_error(
            "--time %s: expected FROM..TO in seconds since the first sample, such as 0.5..0.75", range);
    if (!path)
        return thread_lines_report(args, options.from_seconds, options.to_seconds);
    const char *ratios[CS_RATIOS_MAX];
    int wrong = observed_ratios(args, ratios, &options.n_ratios);
    options.ratios = ratios;
    if (wrong)
        return wrong;
    int number = tag ? observed_log_tag(path, tag) : 0;
    if (number < 0)
        return CS_EXIT_FAILED;
    options.tag = (unsigned)number;
    struct progress bar;
    progress_init(&bar, "reading twice", "B", 0);
    options.progress = progress_of;
    options.arg = &bar;
    int rc = cs_observe_timeline_fold(path, &options, &t, &log, &err);
    progress_fini(&bar);
    if (rc < 0)
        return failed(&err);
    rc = print(args, t, log, &options);
    cs_observe_log_reader_close(log);
    cs_observe_timeline_close(t);
    return rc;
}

static const struct option_entry options[] = {
    OPTION_TAG,
    {"time", 0, "FROM..TO", "only this part, in seconds since the first sample (either may be left out)"},
    {"buckets", 0, "N", "cut it into N equal buckets (24; 500 in JSON and CSV)"},
    OPTION_RATIO,
    OPTION_RAW,
    OPTION_LOG,
    OPTION_PROCESS,
    OPTION_EPOCH,
    {"threads", 0, "N", "of a recording: only the busiest N threads (20; 0: all; JSON and CSV have all)"},
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_timeline = {
    "timeline",
    "",
    "what threads did over time: ran, or waited for what; of a log, shares of tags and rates",
    "A recording with waits gives a line for each thread, the busiest first. It shows what the thread did in "
    "each part of the time: ran, waited for a CPU, or for what. Short waits have no recorded time stamps; "
    "time that cannot be placed is shown as \"waiting\". --time zooms in, in seconds since the first "
    "thread.\n"
    "\n"
    "    cyclescope record --waits -- ./server\n"
    "    cyclescope timeline\n"
    "\n"
    "--log shows what an observed program did, in equal buckets of time. Each bucket has the share of time "
    "that was seen, and the shares of the most frequent values of a tag. The rates of all counters follow, "
    "in events per 1000 TSC cycles, or IPC: mean, least and most of the kept intervals. --time zooms in, "
    "down to single intervals.",
    options,
    run,
};
