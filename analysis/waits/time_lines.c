/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/waits/time_lines.h"

#include "analysis/waits/wait_place.h"
#include "analysis/waits/wait_reading.h"
#include "store/base/array.h"
#include "store/base/order.h"
#include "store/catalog.h"
#include "store/table/wait_schemas.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct row {
    uint64_t pid, tid, begin_ns, wake_ns, end_ns, on_ns;
    unsigned state;
    const char *name; /* of a thread; NULL: a wait */
};

struct gathering {
    struct cs_time_lines *lines;
    const char *label;
    struct cs_calls waits; /* for what a lock is called */
    struct row *rows;
    size_t n, capacity;
    struct cs_error *err;
};

static const char *keep(struct cs_time_lines *l, const char *text)
{
    int64_t n = cs_dictionary_add(&l->texts, text, strlen(text));
    return n < 0 ? "" : l->texts.strings[n];
}

static unsigned state_of(struct cs_time_lines *l, const char *kind)
{
    for (unsigned i = 0; i < l->n_states; i++)
        if (strcmp(l->states[i], kind) == 0)
            return i;
    if (l->n_states == CS_TIME_LINE_STATES)
        return CS_TIME_LINE_NOT_TOLD;
    l->states[l->n_states] = keep(l, kind);
    return l->n_states++;
}

static int take_rows(struct gathering *g, struct cs_table *table)
{
    for (size_t i = 0; i < cs_table_rows(table); i++) {
        const uint64_t *r = cs_table_row(table, i);
        const char *what = cs_table_string(table, r[CS_WAIT_TIMES_WHAT]);
        if (r[CS_WAIT_TIMES_END] <= r[CS_WAIT_TIMES_BEGIN])
            continue;
        if (cs_array_room(g->rows, g->n, g->capacity) < 0)
            return -ENOMEM;
        bool is_thread = strcmp(what, CS_WAIT_TIMES_THREAD) == 0;
        g->rows[g->n++] = (struct row){
            .pid = r[CS_WAIT_TIMES_PID],
            .tid = r[CS_WAIT_TIMES_TID],
            .begin_ns = r[CS_WAIT_TIMES_BEGIN],
            .wake_ns = r[CS_WAIT_TIMES_WAKE],
            .end_ns = r[CS_WAIT_TIMES_END],
            .on_ns = r[CS_WAIT_TIMES_ON],
            .name = is_thread ? keep(g->lines, cs_table_string(table, r[CS_WAIT_TIMES_NAME])) : NULL,
            .state = is_thread
                         ? 0
                         : state_of(g->lines, cs_wait_kind(&g->waits, what, r[CS_WAIT_TIMES_CONTEXT], "")),
        };
    }
    return 0;
}

/* A thread before its waits; a number that came round again begins anew. */
CS_ORDER(in_order, struct row, cs_order(a->tid, b->tid), cs_order(a->begin_ns, b->begin_ns),
         cs_order(!a->name, !b->name))

struct filling {
    struct cs_time_lines *lines;
    struct cs_time_line *line;
    uint64_t start_ns; /* of all */
};

/* For the order of lines: nor is it the busier for waiting until others have ended. */
static bool is_at_rest(const char *state)
{
    return cs_wait_is_idle(state) || strcmp(state, "child") == 0 || strcmp(state, "join") == 0 ||
           strcmp(state, "poll") == 0;
}

/* `ns` of a state, spread evenly from `from` to `to`. */
static void fill(const struct filling *f, unsigned state, uint64_t from, uint64_t to, double ns)
{
    const struct cs_time_lines *l = f->lines;
    if (to <= from || ns <= 0)
        return;
    if (!f->line->shares) {
        f->line->ns[state] += ns;
        if (!is_at_rest(l->states[state]))
            f->line->busy_ns += ns;
        return;
    }
    double bucket = (double)(l->to_ns - l->from_ns) / l->n_buckets, density = ns / (double)(to - from);
    double begin = ((double)(from - f->start_ns) - (double)l->from_ns) / bucket,
           end = ((double)(to - f->start_ns) - (double)l->from_ns) / bucket;
    begin = fmin(fmax(begin, 0), l->n_buckets);
    end = fmin(end, l->n_buckets);
    for (unsigned b = (unsigned)begin; b < l->n_buckets && (double)b < end; b++)
        f->line->shares[(size_t)b * l->n_states + state] +=
            (float)(density * (fmin(end, b + 1.0) - fmax(begin, b)));
}

/* From when it wanted a CPU, `queued`, to when it had one, `from`, and on to its next wait: it ran for some of that. What it ran
 * beyond is the end of its wait: the kernel's account begins with the choice of the thread, before the switch is told. */
static void fill_until(const struct filling *f, uint64_t queued, uint64_t from, uint64_t to, uint64_t ran_ns)
{
    uint64_t room = to > from ? to - from : 0, early = ran_ns > room ? ran_ns - room : 0;
    from -= early < from - queued ? early : from - queued;
    fill(f, CS_TIME_LINE_QUEUED, queued, from, (double)(from - queued));
    if (to <= from)
        return;
    double whole = (double)(to - from), ran = fmin((double)ran_ns, whole);
    fill(f, CS_TIME_LINE_RUNNING, from, to, ran);
    fill(f, CS_TIME_LINE_NOT_TOLD, from, to, whole - ran);
}

static void walk(const struct filling *f, const struct row *thread, size_t n)
{
    uint64_t at = thread->begin_ns, woken = at, on = 0;
    for (const struct row *w = thread + 1; w < thread + n; w++) {
        uint64_t end = w->end_ns < thread->end_ns ? w->end_ns : thread->end_ns;
        if (w->begin_ns < at || end <= w->begin_ns)
            continue;
        fill_until(f, woken, at, w->begin_ns, w->on_ns > on ? w->on_ns - on : 0);
        woken = w->wake_ns > w->begin_ns && w->wake_ns < end ? w->wake_ns : end;
        fill(f, w->state, w->begin_ns, woken, (double)(woken - w->begin_ns));
        at = end;
        on = w->on_ns;
    }
    fill_until(f, woken, at, thread->end_ns, thread->on_ns > on ? thread->on_ns - on : 0);
}

CS_ORDER(busiest_first, struct cs_time_line, cs_order(b->busy_ns, a->busy_ns),
         cs_order(a->first_row, b->first_row))

static int find_lines(struct gathering *g, uint64_t *start)
{
    struct cs_time_lines *l = g->lines;
    uint64_t end = 0, shortest = UINT64_MAX;
    *start = UINT64_MAX;
    for (size_t i = 0; i < g->n; i++) {
        const struct row *r = &g->rows[i];
        if (!r->name) {
            if (l->n && r->tid == l->at[l->n - 1].tid)
                l->at[l->n - 1].n_rows++;
            if (r->end_ns - r->begin_ns < shortest)
                shortest = r->end_ns - r->begin_ns;
            continue;
        }
        if (cs_array_room(l->at, l->n, l->capacity) < 0)
            return -ENOMEM;
        l->at[l->n++] =
            (struct cs_time_line){.name = r->name, .pid = r->pid, .tid = r->tid, .first_row = i, .n_rows = 1};
        *start = r->begin_ns < *start ? r->begin_ns : *start;
        end = r->end_ns > end ? r->end_ns : end;
    }
    l->shortest_ns = shortest == UINT64_MAX ? 0 : shortest;
    l->whole_ns = l->n ? end - *start : 0;
    return 0;
}

/* Which waits follow a thread's row is known: those of its number until the next such row. */
static int make_lines(struct gathering *g, const struct cs_time_lines_wanted *wanted)
{
    struct cs_time_lines *l = g->lines;
    uint64_t start;
    cs_sort(g->rows, g->n, in_order);
    if (find_lines(g, &start) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < l->n; i++) {
        struct cs_time_line *line = &l->at[i];
        const struct row *thread = &g->rows[line->first_row];
        line->begin_ns = thread->begin_ns - start;
        line->end_ns = thread->end_ns - start;
        walk(&(struct filling){l, line, start}, thread, line->n_rows);
    }
    cs_sort(l->at, l->n, busiest_first);
    l->omitted = l->n > wanted->lines ? l->n - wanted->lines : 0;
    l->n -= l->omitted;
    double whole = (double)l->whole_ns, to = wanted->to_seconds > 0 ? wanted->to_seconds * 1e9 : whole;
    l->n_buckets = wanted->buckets ? wanted->buckets : 1;
    l->to_ns = (uint64_t)fmin(to, whole);
    l->from_ns = (uint64_t)fmax(0, fmin(wanted->from_seconds * 1e9, whole));
    if (l->to_ns <= l->from_ns)
        return 0;
    for (size_t i = 0; i < l->n; i++) {
        struct cs_time_line *line = &l->at[i];
        if (!(line->shares = calloc((size_t)l->n_buckets * l->n_states, sizeof *line->shares)))
            return -ENOMEM;
        walk(&(struct filling){l, line, start}, &g->rows[line->first_row], line->n_rows);
    }
    return 0;
}

static int no_times(struct cs_error *err)
{
    return cs_fail(err, ENOENT,
                   "the recording has no times of waits: cyclescope record --waits records them");
}

int cs_time_lines_open(struct cs_time_lines *l, struct cs_store *store,
                       const struct cs_time_lines_wanted *wanted, struct cs_error *err)
{
    assert(wanted->buckets > 0);
    struct gathering g = {.lines = l};
    const struct cs_query query = {
        .kind = CS_KIND_WAIT_TIMES, .event = CS_WAITS_EVENT, .label = wanted->label};
    const struct cs_catalog *catalog;
    const struct cs_store_profile_ref *ref;
    struct cs_calls_wanted of = {.event = CS_WAITS_EVENT, .label = wanted->label, .keys = true};
    *l = (struct cs_time_lines){0};
    (void)state_of(l, "running");
    (void)state_of(l, "run-queue");
    (void)state_of(l, "waiting");
    int rc = cs_store_catalog(store, &catalog, err);
    size_t any = 0;
    if (rc == 0 &&
        !cs_catalog_next(catalog, &query, &any)) /* a daemon's store: chains needn't be read for that */
        rc = no_times(err);
    if (rc == 0)
        rc = cs_calls_open(&g.waits, store, &of, err);
    if (rc == 0 && cs_wait_spots_make(&g.waits) < 0)
        rc = cs_fail(err, ENOMEM, "out of memory for the chains of threads' waits");
    for (size_t at = 0; rc == 0 && (ref = cs_catalog_next(catalog, &query, &at));) {
        struct cs_table *table = NULL;
        rc = cs_store_load(ref, &table, err);
        if (rc == 0 && take_rows(&g, table) < 0)
            rc = cs_fail(err, ENOMEM, "out of memory for the waits of %s", ref->file);
        cs_table_close(table);
    }
    if (rc == 0)
        rc = cs_store_counter(store, CS_WAIT_TIMES_CUT, &l->cut, err);
    if (rc == 0)
        rc = cs_store_counter(store, CS_WAIT_TIMES_CUT_THREADS, &l->cut_threads, err);
    if (rc == 0 && (rc = make_lines(&g, wanted)) < 0)
        rc = cs_fail(err, ENOMEM, "out of memory for the time lines of threads");
    if (rc == 0 && !l->n)
        rc = no_times(err);
    if (rc == 0 && l->to_ns <= l->from_ns)
        rc = cs_fail(err, EINVAL, "the recording is only %.3f s long", (double)l->whole_ns * 1e-9);
    if (g.waits.tree)
        cs_calls_close(&g.waits);
    free(g.rows);
    if (rc < 0)
        cs_time_lines_close(l);
    return rc;
}

void cs_time_lines_close(struct cs_time_lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->at[i].shares);
    free(l->at);
    cs_dictionary_fini(&l->texts);
    *l = (struct cs_time_lines){0};
}
