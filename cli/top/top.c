/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top: what runs now, sorted by samples. On a terminal it is a screen with keys (top_view.h); elsewhere a
 * table a round. */
#include "cli/command/figures.h"
#include "cli/output/output.h"
#include "cli/profile/nameless.h"
#include "cli/top/top_view.h"
#include "store/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS_SHOWN 10

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    stopped = number;
}

struct top {
    const struct parsed *args;
    struct cs_sampler_config config;
    struct cs_sampler *sampler;
    struct cs_store *store; /* temporary: names of kernel and JIT code are learned through it */
    char where[64];
    struct live *live;
    struct top_head head;
    double interval_s, begun_s;
    unsigned rounds, rounds_most; /* 0 = no limit */
    char target[64];
    bool failed; /* no memory for samples */
};

static void placed(void *arg, const struct cs_sampler_placed *p)
{
    struct top *t = arg;
    if (p->event == 0 && live_add(t->live, p) < 0)
        t->failed = true;
}

static void say(void *arg, const char *sentence)
{
    struct top *t = arg;
    if (isatty(STDOUT_FILENO))
        snprintf(t->head.trouble, sizeof t->head.trouble, "%.199s", sentence);
    else
        remark("%s", sentence);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int open_store(struct top *t, struct cs_error *err)
{
    const char *folders[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (!folders[i] || strlen(folders[i]) + 32 > sizeof t->where)
            continue;
        snprintf(t->where, sizeof t->where, "%s/cyclescope-top.XXXXXX", folders[i]);
        if (mkdtemp(t->where)) {
            int rc = cs_store_open(t->where, CS_STORE_WRITE, &t->store, err);
            return rc < 0 ? rc : cs_store_epoch(t->store, NULL, err);
        }
    }
    t->where[0] = 0;
    return cs_fail(err, errno, "no place for temporary files: set TMPDIR");
}

/* The end of a round: what was sampled is named, the head tells of it. */
static int end_round(struct top *t, struct cs_error *err)
{
    struct cs_sampler_statistics s;
    int rc = cs_sampler_merge(t->sampler, err);
    if (rc < 0)
        return rc;
    t->rounds++;
    live_learn(t->live);
    cs_sampler_statistics(t->sampler, &s);
    t->head.rate_hz = s.rate_hz;
    return t->failed ? cs_fail(err, ENOMEM, "out of memory for the samples: a shorter --window needs less")
                     : 0;
}

/* ---- rounds of text ---- */

static const struct column columns[] = {
    {.key = "samples", .head = "samples", .kind = COLUMN_COUNT},
    {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
    {.key = "total_percent", .head = "total %", .kind = COLUMN_SHARE},
    {.key = "pid", .kind = COLUMN_COUNT},
    {.key = "name", .head = "function", .elastic = true},
    {.key = "image", .head = "image", .elastic = true},
};

static int print_round(struct top *t, enum live_by by)
{
    struct live_rows rows;
    struct live_only all = {.pid = 0};
    struct column shown[sizeof columns / sizeof *columns];
    static const char *const names[LIVE_BYS] = {"procedure", "process", "image"};
    if (live_rows(t->live, by, &all, &rows) < 0)
        return failed_with("no memory for the rows");
    memcpy(shown, columns, sizeof columns);
    shown[2].head = by == LIVE_PROCEDURES ? "total %" : NULL;
    shown[3].head = by == LIVE_PROCESSES ? "PID" : NULL;
    shown[4].head = by == LIVE_PROCEDURES ? "function" : names[by];
    shown[5].head = by == LIVE_PROCEDURES ? "image" : NULL;
    struct output *out = output_open(t->args);
    output_line(out, "round %u: %s sample%s of %s in the last %s s, %s at %.0f Hz", t->rounds,
                thousands((double)rows.total).text, plural((double)rows.total), t->target,
                figure(t->head.window_s, 3).text, t->head.event, t->head.rate_hz);
    output_set(out, "round", json_integer(t->rounds));
    output_set(out, "total", json_integer((json_int_t)rows.total));
    output_set(out, "unknown", json_integer((json_int_t)rows.unknown));
    output_set(out, "seconds", json_real(t->head.window_s));
    output_set(out, "rate_hz", json_real(t->head.rate_hz));
    output_set(out, "event", json_text(t->head.event));
    output_set(out, "by", json_string(names[by]));
    struct table *table = output_table(out, "rows", shown, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < rows.n; i++) {
        const struct live_row *r = &rows.row[i];
        table_count(table, r->samples);
        table_number(table, rows.total ? 100.0 * (double)r->samples / (double)rows.total : (double)NAN);
        table_number(table, by == LIVE_PROCEDURES && rows.in_any_image
                                ? 100.0 * (double)r->total / (double)rows.in_any_image
                                : (double)NAN);
        table_count_if(table, by == LIVE_PROCESSES, (uint64_t)r->pid);
        table_text(table, r->name);
        table_text(table, r->image);
    }
    if (rows.n && by == LIVE_PROCEDURES && nameless_is_made_up(rows.row[0].name))
        output_note(out, "%s is called after its address: %s has no symbols. " NAMELESS_REMEDY,
                    rows.row[0].name, rows.row[0].image);
    table_limit(table, (uint64_t)option_number(t->args, "top", ROWS_SHOWN, 0, 1e9), "--top 0 shows all");
    output_line(out, "%s", "");
    live_rows_fini(&rows);
    int rc = output_close(out);
    fflush(stdout);
    return rc;
}

/* Polls until `until`; 0 when the target has ended. */
static int poll_until(struct top *t, double until, struct cs_error *err)
{
    for (double left = until - cs_monotonic_seconds(); left > 0 && !stopped;
         left = until - cs_monotonic_seconds()) {
        int rc = cs_sampler_poll(t->sampler, (int)(left * 1000) + 1, err);
        if (rc <= 0)
            return rc;
    }
    return 1;
}

static double window(const struct top *t)
{
    double rounds = option_number(t->args, "window", 10, 0.1, 3600) / t->interval_s;
    return rounds < 1 ? 1 : ceil(rounds);
}

static void report_window(struct top *t)
{
    double most = window(t) * t->interval_s;
    double since = cs_monotonic_seconds() - t->begun_s;
    t->head.window_s = since < most ? since : most;
}

static int run_text(struct top *t, enum live_by by, struct cs_error *err)
{
    int going = 1;
    while (going > 0 && !stopped && (!t->rounds_most || t->rounds < t->rounds_most)) {
        going = poll_until(t, cs_monotonic_seconds() + t->interval_s, err);
        if (going < 0 || end_round(t, err) < 0)
            return failed(err);
        report_window(t);
        int rc = print_round(t, by);
        if (rc != CS_EXIT_OK)
            return rc;
        live_round(t->live);
    }
    return CS_EXIT_OK;
}

/* ---- the screen ---- */

static int handle_keys(struct top *t, struct top_view *view, struct screen *screen)
{
    int key;
    while ((key = screen_key(screen)) != KEY_NONE) {
        bool anew = top_view_key(view, key, screen_rows(screen));
        if (view->clear) {
            live_clear(t->live);
            t->begun_s = cs_monotonic_seconds();
            view->clear = view->inside = false;
        }
        if (anew && !view->quit && top_view_update(view, t->live) == -ENOENT) {
            view->inside = false; /* code without a name has no instructions to show */
            snprintf(t->head.trouble, sizeof t->head.trouble,
                     "there is no name for that code, so no listing");
            (void)top_view_update(view, t->live);
        }
    }
    return 0;
}

static int run_screen(struct top *t, enum live_by by, struct screen *screen, struct cs_error *err)
{
    struct top_view view;
    int rc = CS_EXIT_OK;
    double next = cs_monotonic_seconds() + fmin(t->interval_s, 0.3); /* something to see soon */
    top_view_init(&view);
    view.by = by;
    while (!view.quit && !stopped) {
        top_view_draw(&view, screen, &t->head);
        double left = next - cs_monotonic_seconds();
        int going = 0;
        if (!t->head.ended)
            going = cs_sampler_poll(t->sampler, left > 0 ? (int)(left * 1000) + 1 : 0, err);
        else
            usleep(50000);
        if (going < 0) {
            rc = failed(err);
            break;
        }
        handle_keys(t, &view, screen);
        if (t->head.ended || (going > 0 && cs_monotonic_seconds() < next))
            continue;
        if (end_round(t, err) < 0) {
            rc = failed(err);
            break;
        }
        report_window(t);
        t->head.ended = going == 0;
        if (t->rounds_most && t->rounds >= t->rounds_most)
            view.quit = true;
        if (!view.paused)
            (void)top_view_update(&view, t->live);
        if (!t->head.ended)
            live_round(t->live);
        next = cs_monotonic_seconds() + t->interval_s;
    }
    top_view_fini(&view);
    return rc;
}

static int open_all(struct top *t, struct cs_error *err)
{
    int rc = open_store(t, err);
    t->config.store = t->store;
    if (rc == 0 && live_open(&t->live, t->store, (unsigned)window(t)) < 0)
        rc = cs_fail(err, ENOMEM, "no memory");
    return rc < 0 ? rc : cs_sampler_open(&t->config, &t->sampler, err);
}

static int run(const struct parsed *args)
{
    static const char *const by_names[] = {"function", "process", "image", NULL};
    const char *event = NULL;
    struct cs_error err = {0};
    struct screen *screen = NULL;
    struct top t = {.args = args, .target = "the whole machine"};
    unsigned by = option_choice(args, "by", by_names, 0);
    if (operand_count(args))
        return usage_error("%s: expected no operand (a process is given by -p PID)", operand(args, 0));
    if (option_given(args, "whole-machine") && option_given(args, "pid"))
        return usage_error("give one of -a and -p");
    t.interval_s = option_number(args, "interval", 1, 0.1, 3600);
    t.rounds_most = (unsigned)option_number(args, "rounds", 0, 0, 1e9);
    t.config = (struct cs_sampler_config){.frequency_hz = option_number(args, "frequency", 1000, 1, 100000),
                                          .resolve_ms = (uint64_t)(t.interval_s * 500),
                                          .target = CS_TARGET_ALL,
                                          .chains = true,
                                          .arg = &t,
                                          .notify = say,
                                          .placed = placed,
                                          .placed_callers = true};
    if (option_given(args, "event")) {
        event = option(args, "event");
        t.config.events = &event;
        t.config.n_events = 1;
    }
    if (option_given(args, "pid")) {
        t.config.target = CS_TARGET_PID;
        t.config.pid = (pid_t)option_number(args, "pid", 0, 1, 4194304);
        snprintf(t.target, sizeof t.target, "process %d", (int)t.config.pid);
    }
    t.head.target = t.target;
    bool interactive = isatty(STDOUT_FILENO) && !option_given(args, "json") && !option_given(args, "csv");
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGPIPE, &action, NULL); /* its temporary files go in any case */
    int rc = interactive ? screen_open(&screen, &err) : 0;
    if (rc == 0 && screen)
        t.config.wake_fd = screen_fd(screen);
    rc = rc < 0 ? rc : open_all(&t, &err);
    if (rc == 0) {
        t.head.event = cs_sampler_event(t.sampler, 0);
        t.head.rate_hz = t.config.frequency_hz;
        t.begun_s = cs_monotonic_seconds();
        report_window(&t);
        rc = screen ? run_screen(&t, by, screen, &err) : run_text(&t, by, &err);
    } else {
        screen_close(screen);
        screen = NULL;
        rc = failed(&err);
    }
    screen_close(screen);
    cs_sampler_close(t.sampler);
    live_close(t.live);
    cs_store_close(t.store);
    if (*t.where)
        nftw(t.where, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return rc;
}

static const struct option_entry options[] = {
    OPTION_PID,
    OPTION_WHOLE_MACHINE,
    OPTION_BY,
    OPTION_EVENT,
    OPTION_TOP,
    OPTION_FREQUENCY,
    {"interval", 0, "SECONDS", "time between two updates (1)"},
    {"window", 'w', "SECONDS", "show the samples of the last SECONDS (10)"},
    {"rounds", 'r', "N", "end after N updates"},
    {NULL, 0, NULL, NULL},
};

const struct command command_top = {
    "top",
    "[-p PID]",
    "what runs now: functions, processes or images, and their hottest instructions",
    "Samples the whole machine or one process and shows the last seconds, most samples first. Column total % "
    "is the share of the samples in a function and in all that it called. --by takes function (the default), "
    "process or image. --top limits the rows if the output is no terminal. Keys on a terminal:\n"
    "\n"
    "    up, down, page up, page down, home, end   move\n"
    "    Enter   a function's instructions; a process's or an image's functions\n"
    "    Esc     back\n"
    "    n       the next hottest instruction\n"
    "    Tab     functions, processes, images\n"
    "    /       only names with these letters\n"
    "    Space   pause\n"
    "    z       start again without the old samples\n"
    "    h       help\n"
    "    q       quit\n"
    "\n"
    "If the output is no terminal, each update is a table; with --json, an object.",
    options,
    run,
};
