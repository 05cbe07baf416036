/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The claim is the sentence that `record` begins with where threads waited longer than they ran; figures are those of
 * waits. */
#include "analysis/waits/critical_path.h"
#include "cli/command/figures.h"
#include "cli/command/time_range.h"
#include "cli/explain/explain.h"
#include "cli/profile/lines/wait_lines.h"
#include "cli/profile/profile.h"
#include "store/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RULED_OUT_BELOW 0.01 /* of all threads' time */
#define MEANWHILE_FROM 0.3   /* of a wait: what somebody did for less of it isn't its cause */
#define PROCESSES_FROM 20    /* started ones */
#define WAITS_A_PROCESS 5    /* at most, where starting processes is what is waited for */
#define BESIDES_FROM 0.1 /* of all threads' time: a wait that is worth a sentence in a document about code */
#define MACHINE_FROM 0.1 /* the same: below that a wait for a CPU isn't worth a sentence */

const char *explain_wait_advice(const char *kind)
{
    static const struct {
        const char *kind, *advice;
    } table[] = {
        {"mutex",
         "less work with the lock held (see \"who meanwhile was\"), or a lock for each part of the data"},
        {"lock",
         "less work with the lock held (see \"who meanwhile was\"), or a lock for each part of the data"},
        {"pi-mutex", "less work with the lock held (see \"who meanwhile was\")"},
        {"monitor",
         "less work in the synchronized block (see \"who meanwhile was\"), or one for each part of the data"},
        {"rwlock", "less work with the lock held, or readers that need no lock"},
        {"file-lock", "a lock on a part of the file, held for less time"},
        {"dead-lock", "one order in which all threads take these locks"},
        {"condition", "an earlier signal: what its sender did meanwhile is in \"who meanwhile was\""},
        {"semaphore", "an earlier post: what its sender did meanwhile is in \"who meanwhile was\""},
        {"barrier", "equal work for all threads between two barriers"},
        {"sleep", "a wait for the event itself, or a shorter sleep"},
        {"run-queue", "no more busy threads than CPUs, or fewer other programs on these CPUs"},
        {"throttled", "a larger CPU quota of the cgroup, or fewer threads that use it up at once"},
        {"file", "fewer and larger requests, data that is read ahead, or fewer calls of fsync"},
        {"pipe", "a faster stage at the other end: see \"who meanwhile was\""},
        {"socket", "several requests before the first reply is read, or a faster peer"},
        {"resolver", "names that are looked up once and kept"},
        {"child", "a shorter child process: its own rows say where its time goes"},
        {"join", "a shorter thread: its own rows say where its time goes"},
        {"page-fault", "memory that is reused, or populated ahead"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(kind, table[i].kind) == 0)
            return table[i].advice;
    return NULL;
}

static double percent(const struct cs_wait_groups *w, uint64_t ns)
{
    return w->all_ns ? fmin(100.0 * (double)ns / (double)w->all_ns, 100) : (double)NAN;
}

/* The totals are exact, so that what they lack didn't happen. */
static void rule_out(struct explanation *e, const struct cs_wait_groups *w, const char *kind)
{
    static const struct {
        const char *what, *words;
    } totals[] = {{"run-queue", "waiting for a CPU"},
                  {"stolen", "time stolen by the hypervisor or interrupts"},
                  {"page-fault", "page faults"},
                  {"throttled", "the cgroup's CPU quota"}};
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
        uint64_t ns = 0;
        for (size_t k = 0; k < w->n_totals; k++)
            ns += strcmp(w->totals[k].what, totals[i].what) == 0 ? w->totals[k].ns : 0;
        if (strcmp(kind, totals[i].what) != 0 && (double)ns < RULED_OUT_BELOW * (double)w->all_ns)
            e->ruled_out[e->n_ruled_out++] =
                (struct explain_ruled_out){totals[i].what, totals[i].words, percent(w, ns)};
    }
}

static void add_top(struct explanation *e, const char *what, const struct cs_wait_top *top)
{
    char text[600];
    cs_wait_top_text(top, text, sizeof text);
    if (top->text && *text)
        explain_text(e, what, text);
}

/* Time for a CPU after a wait in the same function: it goes with the wait. */
static uint64_t with_queue(const struct cs_wait_groups *w, const struct cs_wait_group *g, uint64_t ns)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->at[i].kind, "run-queue") == 0 && strcmp(g->kind, "run-queue") != 0 &&
            w->at[i].function == g->function)
            ns += w->at[i].ns;
    return ns;
}

/* "...: 3,591 times, by fsync at journal.c:41" */
static void add_times(struct explanation *e, const struct cs_wait_group *g, bool switching)
{
    const size_t at = strlen(e->claim);
    snprintf(e->claim + at, sizeof e->claim - at, ", %s %s%s%s%.*s", thousands((double)g->count).text,
             switching ? "of them" : "time", switching ? "" : plural((double)g->count),
             *g->via ? ", by " : "", (int)strcspn(g->via, "@"), g->via);
    if (e->line)
        snprintf(e->claim + strlen(e->claim), sizeof e->claim - strlen(e->claim), " at %.200s:%u",
                 cs_base_name(e->file), e->line);
}

/* "; who meanwhile was: feeder: sleep in poll_queue (58 %)" */
static void add_meanwhile(struct explanation *e, const struct cs_wait_group *g, const char *meanwhile)
{
    if (!g->blame.text || (double)g->blame.ns < MEANWHILE_FROM * (double)g->ns)
        return;
    snprintf(e->claim + strlen(e->claim), sizeof e->claim - strlen(e->claim), "; who meanwhile was: %.400s",
             meanwhile);
    if (strstr(g->blame.text, ": sleep in ") &&
        (strcmp(g->kind, "condition") == 0 || strcmp(g->kind, "semaphore") == 0 ||
         strcmp(g->kind, "pipe") == 0))
        e->advice = "a wait for the event itself in place of the sleep (see \"who meanwhile was\")";
}

static size_t processes(const struct cs_wait_groups *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n_threads; i++)
        n += w->threads[i].pid == w->threads[i].tid;
    return n;
}

/* Whoever waits for a child or its output, a few times for each of many processes, waits for them to start and to end. */
static void add_processes(struct explanation *e, const struct cs_wait_groups *w,
                          const struct cs_wait_group *g)
{
    const size_t n = processes(w);
    if ((strcmp(g->kind, "pipe") != 0 && strcmp(g->kind, "child") != 0) || n <= PROCESSES_FROM ||
        g->count > WAITS_A_PROCESS * n)
        return;
    snprintf(e->claim + strlen(e->claim), sizeof e->claim - strlen(e->claim), "; %s processes ran in all",
             thousands((double)n).text);
    explain_number(e, "processes", (double)n, NAN, NAN, "");
    e->advice = "fewer processes: one that does many pieces, or the work done in the program itself";
}

void explain_machine(struct explanation *e, const struct cs_wait_groups *w)
{
    bool own;
    const uint64_t ns = cs_wait_for_cpu_ns(w, &own);
    if (!own && (double)ns >= MACHINE_FROM * (double)w->all_ns)
        snprintf(
            e->machine, sizeof e->machine,
            "Threads also waited %s s for a CPU. Other programs had the CPUs, or waking a thread took that "
            "long: it depends on the machine and its load.",
            figure((double)ns * 1e-9, 3).text);
}

void explain_besides(struct explanation *e, const struct parsed *args, const struct cs_wait_groups *w)
{
    const struct cs_wait_group *most = NULL;
    double ns = BESIDES_FROM * (double)w->all_ns;
    for (size_t i = 0; i < w->n; i++) {
        const struct cs_wait_group *g = &w->at[i];
        const double own = cs_wait_own_ns(g->kind, &g->facts);
        if (g->reading != CS_WAIT_IS_WAIT || strcmp(g->kind, "run-queue") == 0 || own < ns)
            continue;
        most = g;
        ns = own;
    }
    if (!most)
        return;
    char what[128], *store = explain_store_word(args);
    cs_wait_what_text(w, most, what, sizeof what);
    snprintf(e->absence, sizeof e->absence,
             "Threads also waited %s s for %s, %s %% of their time (cyclescope waits%.100s).",
             figure((double)most->ns * 1e-9, 3).text, what,
             figure(100 * (double)most->ns / (double)w->all_ns, 2).text, store ? store : "");
    free(store);
}

static void find_line(struct explanation *e, struct cs_store *store, const struct cs_wait_groups *w,
                      const struct cs_wait_group *g)
{
    struct wait_lines lines = {0};
    wait_lines_add(&lines, store, w, g);
    const struct wait_line *longest = wait_lines_longest(&lines);
    if (longest) {
        e->address = longest->address;
        e->line = longest->line;
        snprintf(e->file, sizeof e->file, "%s", longest->file);
    }
    wait_lines_fini(&lines);
}

/* What all of it comes to for who started it: a stage of a pipeline waits for what the slowest does. */
static void add_path(struct explanation *e, const struct parsed *args, struct cs_store *store,
                     const struct cs_wait_groups *w)
{
    struct cs_error ignored = {0};
    struct profile p;
    char text[512];
    const struct profile_filter filter = {.epoch = recording_asked(args), .chains = true};
    if (profile_open(&p, store_location(args), &filter, &ignored) < 0)
        return;
    if (cs_critical_path_told(store, w, p.events[p.main_event].name, text, sizeof text) == 0 && *text)
        explain_text(e, "critical path", text);
    profile_close(&p);
}

void explain_wait(struct explanation *e, const struct parsed *args, struct cs_store *store,
                  const struct cs_wait_groups *w, const struct cs_wait_group *g)
{
    char what[160], meanwhile[600];
    const uint64_t ns = cs_wait_what_text(w, g, what, sizeof what);
    const bool first = g == cs_wait_first(w);
    e->about = EXPLAIN_WAIT;
    snprintf(e->cause, sizeof e->cause, "%s", g->kind);
    snprintf(e->words, sizeof e->words, "%s", g->kind);
    e->advice = explain_wait_advice(g->kind);
    snprintf(e->function, sizeof e->function, "%s", cs_wait_where(g));
    if (g->function && g->function->image)
        snprintf(e->image, sizeof e->image, "%s", g->function->image->path);
    if (first)
        cs_wait_first_text(w, g, e->claim, sizeof e->claim);
    else
        snprintf(e->claim, sizeof e->claim, "threads waited %s s for %s", figure((double)ns * 1e-9, 3).text,
                 what);
    explain_number(e, "this wait", (double)ns * 1e-9, NAN, NAN, "s");
    explain_number(e, "this wait, of all threads' time", percent(w, ns), NAN, NAN, "%");
    explain_number(e, "all threads on a CPU", (double)w->on_ns * 1e-9, NAN, NAN, "s");
    explain_number(e, "all threads' time", (double)w->all_ns * 1e-9, NAN, NAN, "s");
    explain_number(e, "waits", (double)g->count, NAN, NAN, "");
    explain_number(e, "median wait", cs_wait_median_ns(g) * 1e-6, NAN, NAN, "ms");
    explain_number(e, "longest wait", (double)g->longest_ns * 1e-6, NAN, NAN, "ms");
    explain_text(e, "is", cs_wait_reading_name(g->reading));
    add_top(e, "thread", &g->thread);
    add_top(e, "object", &g->object);
    add_top(e, "ended by", &g->waker);
    cs_wait_meanwhile_text(g, meanwhile, sizeof meanwhile);
    if (g->blame.text)
        explain_text(e, "who meanwhile was", meanwhile);
    add_path(e, args, store, w);
    rule_out(e, w, g->kind);
    e->of_program.low = 0; /* another wait may take its place */
    e->of_program.high = percent(w, with_queue(w, g, ns));
    if (cs_wait_is_switching(w, g)) { /* switches take CPU time, too: nobody knows how much */
        e->of_program.low = e->of_program.high = NAN;
        e->advice =
            "fewer hand-overs: a longer queue between the threads, several items for one signal, or one "
            "thread that does both parts";
    }
    find_line(e, store, w, g);
    if (strcmp(g->kind, "run-queue") != 0) {
        add_times(e, g, cs_wait_is_switching(w, g));
        if (!cs_wait_is_switching(w, g)) {
            add_meanwhile(e, g, meanwhile);
            add_processes(e, w, g);
        }
        explain_machine(e, w);
    }
    explain_verify(e, args, store, true);
}
