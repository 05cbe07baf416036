/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line a thread, a letter a part of the time: what the thread did for most of it. */
#include "cli/observe/thread_lines.h"

#include "analysis/waits/time_lines.h"
#include "cli/command/figures.h"
#include "cli/command/recordings.h"
#include "cli/output/output.h"

#include <string.h>

#define LINES 20
#define LINES_MAX 1000
#define BUCKETS_MAX 5000
#define BUCKETS_MACHINE 500
#define BESIDE 42 /* columns of the terminal that the rest of a row needs */

/* Upper case: the CPU. What isn't here is a '?'. */
static char letter_of(const char *state)
{
    static const struct {
        const char *state;
        char letter;
    } letters[] = {{"running", '#'},   {"run-queue", 'R'},  {"waiting", '~'}, {"mutex", 'm'},
                   {"condition", 'c'}, {"rwlock", 'w'},     {"join", 'j'},    {"semaphore", 'e'},
                   {"barrier", 'b'},   {"lock", 'l'},       {"file", 'f'},    {"socket", 's'},
                   {"pipe", 'p'},      {"poll", 'o'},       {"sleep", 'z'},   {"child", 'h'},
                   {"signal", 'g'},    {"page-fault", 'a'}, {"stopped", 'd'}, {"throttled", 'T'},
                   {"read-write", 'y'}};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (strcmp(letters[i].state, state) == 0)
            return letters[i].letter;
    return '?';
}

/* What has most of the bucket; ' ' where the thread wasn't there for most of it. */
static char letter_at(const struct cs_time_lines *l, const struct cs_time_line *line, unsigned bucket)
{
    const float *shares = &line->shares[(size_t)bucket * l->n_states];
    unsigned most = 0;
    float all = 0;
    for (unsigned s = 0; s < l->n_states; s++) {
        all += shares[s];
        most = shares[s] > shares[most] ? s : most;
    }
    return all < 0.5F && l->n_buckets > 1 ? ' ' : letter_of(l->states[most]);
}

static json_t *buckets_json(const struct cs_time_lines *l, const struct cs_time_line *line)
{
    json_t *buckets = json_array();
    for (unsigned b = 0; b < l->n_buckets; b++) {
        json_t *shares = json_object();
        for (unsigned s = 0; s < l->n_states; s++) {
            double percent = 100.0 * (double)line->shares[(size_t)b * l->n_states + s];
            if (percent > 0)
                json_object_set_new(shares, l->states[s], json_real(percent));
        }
        json_array_append_new(buckets, shares);
    }
    return buckets;
}

static json_t *time_json(const struct cs_time_lines *l, const struct cs_time_line *line)
{
    json_t *time = json_object();
    for (unsigned s = 0; s < l->n_states; s++)
        if (line->ns[s] > 0)
            json_object_set_new(time, l->states[s], json_real(line->ns[s] * 1e-9));
    return time;
}

static void put_line(struct table *table, const struct cs_time_lines *l, const struct cs_time_line *line)
{
    char letters[BUCKETS_MAX + 1];
    for (unsigned b = 0; b < l->n_buckets; b++)
        letters[b] = letter_at(l, line, b);
    letters[l->n_buckets] = '\0';
    double there = (double)(line->end_ns - line->begin_ns);
    table_text(table, line->name);
    table_number(table, (double)line->pid);
    table_number(table, (double)line->tid);
    table_number(table, (double)line->begin_ns * 1e-9);
    table_number(table, (double)line->end_ns * 1e-9);
    table_number(table, 100 * line->ns[CS_TIME_LINE_RUNNING] / there);
    table_text(table, letters);
    table_json(table, time_json(l, line));
    table_json(table, buckets_json(l, line));
}

/* Of the letters that are there. */
static void put_legend(struct output *out, const struct cs_time_lines *l)
{
    char text[1024] = "";
    size_t n = 0;
    for (unsigned s = 0; s < l->n_states && n < sizeof text; s++) {
        double ns = 0;
        for (size_t i = 0; i < l->n; i++)
            ns += l->at[i].ns[s];
        if (ns > 0)
            n +=
                (size_t)snprintf(text + n, sizeof text - n, "%s%c %s", n ? "  " : "", letter_of(l->states[s]),
                                 s == CS_TIME_LINE_NOT_TOLD ? "waiting, reason not recorded" : l->states[s]);
    }
    output_line(out, "%s", text);
}

static void put_remarks(struct output *out, const struct cs_time_lines *l)
{
    if (l->omitted)
        output_note(out, "%s less busy thread%s left out%s", thousands((double)l->omitted).text,
                    l->omitted == 1 ? " is" : "s are", l->n < LINES_MAX ? ": --threads 0 shows them" : "");
    if (l->cut)
        output_note(
            out,
            "%s kept waits of at most %s ms are not in it: between those that are, running is spread evenly",
            thousands((double)l->cut).text, figure((double)l->shortest_ns * 1e-6, 3).text);
    if (l->cut_threads)
        output_note(out, "%s threads more than a recording keeps are not in it",
                    thousands((double)l->cut_threads).text);
}

static int print(const struct parsed *args, const struct cs_time_lines *l)
{
    char head[96], text[3][48];
    double from = (double)l->from_ns * 1e-9, to = (double)l->to_ns * 1e-9,
           bucket_ms = (to - from) * 1e3 / l->n_buckets;
    snprintf(head, sizeof head, "%s s to %s s", figures(from, 3, text[0]), figures(to, 3, text[1]));
    const struct column columns[] = {
        {.key = "thread", .head = "thread", .kind = COLUMN_TEXT},
        {.key = "pid", .kind = COLUMN_NUMBER, .digits = -1},
        {.key = "tid", .head = "TID", .kind = COLUMN_NUMBER, .digits = -1, .spare = true},
        {.key = "from_seconds", .kind = COLUMN_NUMBER, .digits = 6},
        {.key = "to_seconds", .kind = COLUMN_NUMBER, .digits = 6},
        {.key = "running_percent", .head = "running %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "line", .head = head, .kind = COLUMN_TEXT},
        {.key = "time", .kind = COLUMN_JSON},
        {.key = "buckets", .kind = COLUMN_JSON},
    };
    struct output *out = output_open(args);
    size_t n = l->n + l->omitted + l->cut_threads;
    output_line(out, "%s thread%s over %s s; a letter is what a thread did for most of %s ms",
                thousands((double)n).text, plural((double)n), figures((double)l->whole_ns * 1e-9, 3, text[0]),
                figures(bucket_ms, 3, text[1]));
    output_line(out, "%s", "");
    json_t *states = json_array();
    for (unsigned s = 0; s < l->n_states; s++)
        json_array_append_new(states, json_text(l->states[s]));
    output_set(out, "states", states);
    output_set(out, "seconds", json_real((double)l->whole_ns * 1e-9));
    output_set(out, "from_seconds", json_real(from));
    output_set(out, "bucket_ms", json_real(bucket_ms));
    output_set(out, "waits_left_out", json_integer((json_int_t)l->cut));
    output_set(out, "threads_left_out", json_integer((json_int_t)l->omitted + (json_int_t)l->cut_threads));
    struct table *table = output_table(out, "threads", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < l->n; i++)
        put_line(table, l, &l->at[i]);
    output_line(out, "%s", "");
    put_legend(out, l);
    put_remarks(out, l);
    return output_close(out);
}

int thread_lines_report(const struct parsed *args, double from_seconds, double to_seconds)
{
    bool machine = option_given(args, "json") || option_given(args, "csv");
    unsigned columns = terminal_columns(), fitting = columns > BESIDE + 24 ? columns - BESIDE : 24;
    struct cs_error err = {0};
    struct cs_store *store;
    struct recordings which;
    struct cs_time_lines lines;
    double top = option_number(args, "threads", machine ? LINES_MAX : LINES, 0, 1e12);
    struct cs_time_lines_wanted wanted = {
        .label = option(args, "process"),
        .from_seconds = from_seconds,
        .to_seconds = to_seconds,
        .buckets =
            (unsigned)option_number(args, "buckets", machine ? BUCKETS_MACHINE : fitting, 1, BUCKETS_MAX),
        .lines = top > 0 && top < LINES_MAX ? (size_t)top : LINES_MAX,
    };
    if (recordings_open(store_location(args), option(args, "epoch"), RECORDINGS_OF_SAMPLES, &store, &which,
                        &err) < 0)
        return failed(&err);
    if (which.all && which.n > 1) {
        cs_store_close(store);
        return failed_with("a time line is of one recording: --epoch -1 is the newest");
    }
    int rc = cs_time_lines_open(&lines, store, &wanted, &err);
    cs_store_close(store);
    if (rc < 0)
        return failed(&err);
    rc = print(args, &lines);
    cs_time_lines_close(&lines);
    return rc;
}
