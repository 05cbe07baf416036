/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waits: where threads' time went off the CPU: for what, where, and who ended it. */
#include "analysis/waits/wait_groups.h"
#include "cli/command/figures.h"
#include "cli/command/recordings.h"
#include "cli/command/time_range.h"
#include "cli/contexts/contexts.h"
#include "cli/contexts/critical_path.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ROWS_SHOWN 10
#define SHOWN_NS 500000 /* less is 0.000 s in the text */

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : (double)NAN;
}

static void put_totals(struct output *out, const struct cs_wait_groups *w)
{
    static const struct column columns[] = {
        {.key = "what", .head = "all threads' time", .kind = COLUMN_TEXT},
        {.key = "seconds", .head = "s", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
        {.key = "times", .head = "times", .kind = COLUMN_COUNT},
    };
    struct table *table = output_table(out, "time", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < w->n_totals; i++) {
        const struct cs_wait_total *t = &w->totals[i];
        if (cs_wait_total_is_left_over(t) || (output_form(out) == OUTPUT_TEXT && t->ns < SHOWN_NS))
            continue;
        table_text(table, t->what);
        table_number(table, (double)t->ns * 1e-9);
        table_number(table, percent(t->ns, w->all_ns));
        /* A thread waits for a CPU after most other waits, too: those are in the time, and weren't counted. */
        table_count_if(table,
                       t->count && !(output_form(out) == OUTPUT_TEXT && strcmp(t->what, "run-queue") == 0),
                       t->count);
    }
}

static void put_threads(struct output *out, const struct parsed *args, const struct cs_wait_groups *w)
{
    static const struct column columns[] = {
        {.key = "thread", .head = "thread", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "pid", .head = "PID", .kind = COLUMN_NUMBER, .digits = -1},
        {.key = "tid", .head = "TID", .kind = COLUMN_NUMBER, .digits = -1},
        {.key = "seconds", .head = "s", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "on_cpu_percent", .head = "on CPU %", .kind = COLUMN_SHARE},
        {.key = "stolen_percent", .head = "stolen %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "run_queue_percent", .head = "run queue %", .kind = COLUMN_SHARE},
        {.key = "waiting_percent", .head = "waiting %", .kind = COLUMN_SHARE, .plain = true},
        {.key = "mostly", .head = "mostly", .kind = COLUMN_TEXT},
        {.key = "time", .kind = COLUMN_JSON},
    };
    struct table *table = output_table(out, "threads", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < w->n_threads; i++) {
        const struct cs_waiting_thread *t = &w->threads[i];
        json_t *time = json_object();
        for (size_t k = 0; k < t->n; k++)
            json_object_set_new(time, t->totals[k].what, json_real((double)t->totals[k].ns * 1e-9));
        table_text(table, t->name);
        table_number(table,
                     t->tid ? (double)t->pid : (double)NAN); /* the daemon's: all threads of that name */
        table_number(table, t->tid ? (double)t->tid : (double)NAN);
        table_number(table, (double)t->all_ns * 1e-9);
        table_number(table, percent(t->on_ns, t->all_ns));
        table_number(table, percent(t->stolen_ns, t->all_ns));
        table_number(table, percent(t->run_queue_ns, t->all_ns));
        table_number(table, percent(t->all_ns - t->on_ns - t->stolen_ns - t->run_queue_ns, t->all_ns));
        table_text(table, cs_wait_mostly(w, t));
        table_json(table, time);
    }
    table_limit(table, (uint64_t)option_number(args, "top", ROWS_SHOWN, 0, 1e12), "--top 0 shows all");
}

static json_t *distribution(const struct cs_wait_group *group)
{
    json_t *bins = json_array();
    for (unsigned b = 0; b < CS_WAIT_BINS; b++)
        if (group->bins[b])
            json_array_append_new(bins, json_pack("{s:f, s:I}", "from_us", exp2(b) * 1e-3, "waits",
                                                  (json_int_t)group->bins[b]));
    return bins;
}

static void put_top(struct table *table, const struct cs_wait_top *top)
{
    char text[600];
    cs_wait_top_text(top, text, sizeof text);
    table_text(table, top->text ? text : NULL);
}

static void put_rows(struct output *out, const struct parsed *args, const struct cs_wait_groups *w)
{
    static const struct column columns[] = {
        {.key = "seconds", .head = "s", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
        {.key = "waits", .head = "waits", .kind = COLUMN_COUNT},
        {.key = "median_ms", .head = "median ms", .kind = COLUMN_NUMBER, .digits = 3, .spare = true},
        {.key = "longest_ms", .head = "longest ms", .kind = COLUMN_NUMBER, .digits = 1},
        {.key = "reading", .head = "is", .kind = COLUMN_TEXT},
        {.key = "kind", .head = "for", .kind = COLUMN_TEXT},
        {.key = "where", .head = "in", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "via", .kind = COLUMN_TEXT},
        {.key = "image", .kind = COLUMN_TEXT},
        {.key = "thread", .head = "thread", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "object", .head = "object", .kind = COLUMN_TEXT, .elastic = true, .spare = true},
        {.key = "ended_by", .head = "ended by", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "meanwhile", .head = "who meanwhile was", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "meanwhile_percent", .kind = COLUMN_SHARE},
        {.key = "idle", .kind = COLUMN_JSON},
        {.key = "distribution", .kind = COLUMN_JSON},
    };
    struct table *table = output_table(out, "rows", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < w->n; i++) {
        const struct cs_wait_group *g = &w->at[i];
        table_number(table, (double)g->ns * 1e-9);
        table_number(table, percent(g->ns, w->all_ns));
        table_count(table, g->count);
        table_number(table, cs_wait_median_ns(g) * 1e-6);
        table_number(table, (double)g->longest_ns * 1e-6);
        table_text(table, cs_wait_reading_name(g->reading));
        table_text(table, g->kind);
        table_text(table, *cs_wait_where(g) ? cs_wait_where(g) : NULL);
        table_text(table, *g->via ? g->via : NULL);
        table_text(table, g->function ? g->function->image->path : NULL);
        put_top(table, &g->thread);
        put_top(table, &g->object);
        put_top(table, &g->waker);
        char meanwhile[600];
        cs_wait_meanwhile_text(g, meanwhile, sizeof meanwhile);
        table_text(table, g->blame.text ? meanwhile : NULL);
        table_number(table, g->blame.text ? percent(g->blame.ns, g->blamed_ns) : (double)NAN);
        table_json(table, json_boolean(g->reading == CS_WAIT_IS_IDLE));
        table_json(table, distribution(g));
    }
    table_limit(table, (uint64_t)option_number(args, "top", ROWS_SHOWN, 0, 1e12), "--top 0 shows all");
}

static void put_dead_locks(struct output *out, const struct cs_wait_groups *w)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct cs_wait_group *g = &w->at[i];
        if (strcmp(g->kind, "dead-lock") == 0)
            output_line(out, "dead lock: %s in %s waits for %s", g->thread.text ? g->thread.text : "a thread",
                        cs_wait_where(g), g->object.text ? g->object.text : "a lock");
    }
}

/* The rule is docs/waits.md's. */
static void put_readings(struct output *out, const struct cs_wait_groups *w)
{
    output_note(out, "The first table is exact. The second is estimated from the waits that were kept.");
    if (w->idle_ns)
        output_note(
            out, "Idle rows come last: a listening socket, a client that asks nothing, a timer; %s s in all.",
            figure((double)w->idle_ns * 1e-9, 3).text);
    if (w->either_ns)
        output_note(out,
                    "Either: %s s. This time is idle if those threads wait for work, and a wait if they wait "
                    "for a result. The recording doesn't show which.",
                    figure((double)w->either_ns * 1e-9, 3).text);
}

static int run(const struct parsed *args)
{
    struct cs_error err = {0};
    struct cs_store *store = NULL;
    struct recordings which;
    struct cs_wait_groups w;
    const char *where = store_location(args);
    static const char *const by_names[] = {"place", "thread", NULL};
    const bool by_thread = option_choice(args, "by", by_names, 0) == 1;
    if (operand_count(args))
        return usage_error("%s: waits takes no operand", operand(args, 0));
    if (option_given(args, "of") && !option_given(args, "critical-path"))
        return usage_error("--of says whose critical path is shown: it needs --critical-path");
    if (option_given(args, "critical-path"))
        return by_thread
                   ? usage_error("--critical-path is a table of its own: it can't be combined with --by")
                   : critical_path_report(args);
    int rc = recordings_open(where, recording_asked(args), RECORDINGS_OF_CHAINS, &store, &which, &err);
    if (rc < 0)
        return failed(&err);
    struct cs_calls_wanted wanted = {
        .label = option(args, "process"), .inlines = !option_given(args, "no-inlines"), .plain_rare = true};
    rc = cs_wait_groups_open(&w, store, &wanted, &err);
    if (rc < 0) {
        cs_store_close(store);
        return failed(&err);
    }
    struct output *out = output_open(args);
    output_line(out, "%s thread%s, %s s of their time in all", thousands((double)w.n_threads).text,
                plural((double)w.n_threads), figure((double)w.all_ns * 1e-9, 3).text);
    put_dead_locks(out, &w);
    output_line(out, "%s", "");
    output_set(out, "n_threads", json_integer((json_int_t)w.n_threads));
    output_set(out, "seconds", json_real((double)w.all_ns * 1e-9));
    put_totals(out, &w);
    output_line(out, "%s", "");
    if (by_thread || output_form(out) != OUTPUT_TEXT)
        put_threads(out, args, &w);
    if (!by_thread || output_form(out) != OUTPUT_TEXT)
        put_rows(out, args, &w);
    output_line(out, "%s", "");
    if (!by_thread)
        put_readings(out, &w);
    output_next(out, args, "next:", "waits", NULL, " --critical-path      (what threads really waited for)");
    cs_wait_groups_close(&w);
    cs_store_close(store);
    return output_close(out);
}

static const struct option_entry options[] = {
    {"critical-path", 0, NULL, "what a thread's time was spent on, also in the threads that it waited for"},
    {"of", 0, "NAME", "critical path of the threads with this name (default: the program's first thread)"},
    OPTION_BY,
    OPTION_PROCESS,
    OPTIONS_WHEN,
    OPTION_NO_INLINES,
    OPTION_TOP,
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_waits = {
    "waits",
    "",
    "where threads wait: for what, how long, and who ended it",
    "The first table has the whole time of all threads: on a CPU, stolen by the hypervisor or interrupts, "
    "and waiting, by reason.\n"
    "\n"
    "The second table has the waits: for what, and in which function. A thread may wait for a mutex, a file, "
    "a pipe, or a CPU (run-queue). \"Ended by\" is the thread that woke the waiting thread; for a lock, the "
    "thread that released it. \"Who meanwhile was\" is what the thread in \"ended by\" mostly did during the "
    "wait. If that thread itself waited for a third one, the column shows what the third one did. For a wait "
    "for a CPU, it shows the thread that had the CPU.\n"
    "\n"
    "--by takes place (the default) or thread: the time of each thread. --critical-path divides the time of "
    "one thread: its own work, and the work of the threads that it waited for. It also estimates how much a "
    "faster function would save.\n"
    "\n"
    "Example: a server takes 10 s, but computes for only 2 s. Why?\n"
    "\n"
    "    cyclescope record --waits -- ./server\n"
    "    cyclescope waits",
    options,
    run,
};
