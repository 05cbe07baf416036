/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/waits/wait_groups.h"

#include "analysis/waits/wait_bases.h"
#include "analysis/waits/wait_peers.h"
#include "analysis/waits/wait_rounds.h"
#include "store/base/array.h"
#include "store/base/order.h"
#include "store/catalog.h"
#include "store/table/wait_schemas.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 512

#define MOVED SIZE_MAX /* a tally whose row another one has taken; a row that no other has taken */
struct tally {         /* ns of a text in a group */
    size_t group;
    unsigned which;
    const char *text;
    uint64_t ns;
};

struct named {                        /* all threads of a name */
    uint64_t all_ns, on_ns, sleep_ns; /* all: without what it waited for a CPU */
    bool first;                       /* a process's first thread is among them */
};

struct gathering {
    struct cs_wait_groups *groups;
    const char *label; /* of these alone; NULL: all */
    struct cs_dictionary keys, tally_keys, threads, totals, names, contexts;
    CS_ARRAY(struct named) named;
    CS_ARRAY(size_t) group_of; /* by context */
    CS_ARRAY(struct tally) tallies;
    CS_ARRAY(struct cs_wait_meanwhile) meanwhile;
    struct cs_wait_servers servers;
    struct cs_wait_peers peers;
    struct cs_error *err;
};

static const char *keep(struct cs_wait_groups *g, const char *text)
{
    int64_t n = cs_dictionary_add(&g->texts, text, strlen(text));
    return n < 0 ? "" : g->texts.strings[n];
}

/* ---- groups ---- */

static void place_text(const struct cs_calls *calls, uint64_t key, char *text, size_t size)
{
    const struct cs_call_function *via, *f = cs_wait_place(calls, cs_calls_node(calls, key), &via);
    f = f ? f : via;
    snprintf(text, size, "%s", f ? f->brief : "");
}

/* Nobody came within its time. */
static bool timed_out(const char *kind, const char *waker)
{
    return strcmp(waker, CS_WAITS_INTERRUPT) == 0 &&
           (strcmp(kind, "condition") == 0 || strcmp(kind, "semaphore") == 0 || strcmp(kind, "lock") == 0);
}

static bool is_event_from(const char *object)
{
    return strncmp(object, CS_WAITS_EVENT_FROM, strlen(CS_WAITS_EVENT_FROM)) == 0;
}

/* Events that a process, a thread and nobody told of are apart: what they are differs. `waker`: its name, or any. `through`: the
 * function or call that this one went through; "". */
static int64_t group_of(struct gathering *g, const char *reason, const char *call, const char *object,
                        uint64_t context, const char *waker, const char **through)
{
    const struct cs_calls *waits = &g->groups->waits;
    const struct cs_call_function *called,
        *place = cs_wait_place(waits, cs_calls_node(waits, context), &called);
    const char *kind = cs_wait_kind(waits, reason, context, object), *via = called ? called->brief : call;
    char key[TEXT_MAX * 2];
    const bool untold = timed_out(kind, waker);
    const char *by = untold                        ? "timer"
                     : strcmp(kind, "events") != 0 ? ""
                     : is_event_from(object)       ? "process"
                     : *waker && *waker != '['     ? "thread"
                                                   : "";
    if (strcmp(kind, "run-queue") == 0 || strcmp(kind, "page-fault") == 0 || strcmp(kind, "monitor") == 0)
        via = "";
    *through = via;
    /* Not by the call: rows of who is to blame have none. */
    snprintf(key, sizeof key, "%s %s\n%s\n%p", by, kind, strcmp(kind, reason) == 0 || !called ? "" : via,
             (const void *)place);
    int64_t n = cs_dictionary_add(&g->keys, key, strlen(key));
    if (n < 0 || (size_t)n < g->groups->n)
        return n;
    if (cs_array_room(g->groups->at, g->groups->n, g->groups->capacity) < 0)
        return -ENOMEM;
    g->groups->at[g->groups->n++] = (struct cs_wait_group){.kind = keep(g->groups, kind),
                                                           .where = place ? place->brief : "",
                                                           .function = place,
                                                           .via = keep(g->groups, via),
                                                           .facts.timed_out = untold};
    return n;
}

enum { THREAD, OBJECT, WAKER, BLAME, CALL };

static void tally(struct gathering *g, size_t group, unsigned which, const char *text, uint64_t ns)
{
    char key[TEXT_MAX + 64];
    snprintf(key, sizeof key, "%zu %u %s", group, which, text);
    int64_t n = cs_dictionary_add(&g->tally_keys, key, strlen(key));
    if (n < 0)
        return;
    if ((size_t)n > g->tallies.n) /* memory was short before */
        return;
    if ((size_t)n == g->tallies.n) {
        struct tally *more = cs_array_add(&g->tallies);
        if (!more)
            return;
        *more = (struct tally){group, which, keep(g->groups, text), 0};
    }
    g->tallies.at[n].ns += ns;
}

static struct cs_wait_top *top_of(struct cs_wait_group *group, unsigned which)
{
    struct cs_wait_top *const tops[] = {&group->thread, &group->object, &group->waker, &group->blame,
                                        &group->call};
    return tops[which];
}

/* ---- tables ---- */

static int add_total(struct gathering *g, const char *what, uint64_t ns, uint64_t count)
{
    struct cs_wait_groups *w = g->groups;
    int64_t n = cs_dictionary_add(&g->totals, what, strlen(what));
    if (n < 0 || ((size_t)n == w->n_totals && cs_array_room(w->totals, w->n_totals, w->totals_capacity) < 0))
        return -ENOMEM;
    if ((size_t)n == w->n_totals)
        w->totals[w->n_totals++] = (struct cs_wait_total){keep(w, what), 0, 0};
    w->totals[n].ns += ns;
    w->totals[n].count += count;
    w->all_ns += ns;
    return 0;
}

/* A thread may have changed its name: the last one met is it. Of the daemon's threads the name is all that is known. */
static int add_thread(struct gathering *g, const uint64_t *row, const char *name, const char *what)
{
    struct cs_wait_groups *w = g->groups;
    char key[64];
    snprintf(key, sizeof key, "%" PRIu64 " %" PRIu64 " %.20s", row[CS_THREADS_PID], row[CS_THREADS_TID],
             row[CS_THREADS_TID] ? "" : name);
    int64_t n = cs_dictionary_add(&g->threads, key, strlen(key));
    if (n < 0 ||
        ((size_t)n == w->n_threads && cs_array_room(w->threads, w->n_threads, w->threads_capacity) < 0))
        return -ENOMEM;
    if ((size_t)n == w->n_threads)
        w->threads[w->n_threads++] =
            (struct cs_waiting_thread){.pid = row[CS_THREADS_PID], .tid = row[CS_THREADS_TID]};
    struct cs_waiting_thread *t = &w->threads[n];
    if (cs_array_room(t->totals, t->n, t->capacity) < 0)
        return -ENOMEM;
    t->totals[t->n++] = (struct cs_wait_total){keep(w, what), row[CS_THREADS_NS], row[CS_THREADS_COUNT]};
    t->name = keep(w, name);
    t->all_ns += row[CS_THREADS_NS];
    t->on_ns += strcmp(what, "on-cpu") == 0 ? row[CS_THREADS_NS] : 0;
    w->on_ns += strcmp(what, "on-cpu") == 0 ? row[CS_THREADS_NS] : 0;
    t->stolen_ns += strcmp(what, "stolen") == 0 ? row[CS_THREADS_NS] : 0;
    w->stolen_ns += strcmp(what, "stolen") == 0 ? row[CS_THREADS_NS] : 0;
    t->run_queue_ns += strcmp(what, "run-queue") == 0 ? row[CS_THREADS_NS] : 0;
    return 0;
}

static int take_threads(struct gathering *g, struct cs_table *table)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        rc = add_thread(g, row, cs_table_string(table, row[CS_THREADS_NAME]),
                        cs_table_string(table, row[CS_THREADS_WHAT]));
        if (rc == 0)
            rc = add_total(g, cs_table_string(table, row[CS_THREADS_WHAT]), row[CS_THREADS_NS],
                           row[CS_THREADS_COUNT]);
    }
    return rc;
}

/* ---- facts ---- */

static int take_names(struct gathering *g)
{
    const struct cs_wait_groups *w = g->groups;
    for (size_t i = 0; i < w->n_threads; i++) {
        const struct cs_waiting_thread *t = &w->threads[i];
        int64_t n = cs_dictionary_add(&g->names, t->name, strlen(t->name));
        struct named *of = n == (int64_t)g->named.n ? cs_array_add(&g->named) : NULL;
        if (of)
            *of = (struct named){0};
        if (n < 0 || (size_t)n >= g->named.n)
            return -ENOMEM;
        of = &g->named.at[n];
        of->first |= t->pid == t->tid && t->tid;
        of->on_ns += t->on_ns;
        of->all_ns += t->all_ns - t->stolen_ns - t->run_queue_ns;
        for (size_t k = 0; k < t->n; k++)
            of->sleep_ns += strcmp(t->totals[k].what, "sleep") == 0 ? t->totals[k].ns : 0;
    }
    return 0;
}

static struct named of_name(struct gathering *g, const char *name)
{
    int64_t n = cs_dictionary_add(&g->names, name, strlen(name));
    return n >= 0 && (size_t)n < g->named.n ? g->named.at[n] : (struct named){0};
}

static uint64_t time_of(void *gathering, const char *name)
{
    return of_name(gathering, name).all_ns;
}

static bool hardly_runs(const struct named *n)
{
    return n->on_ns < n->all_ns / 50;
}

/* At the place where a thread waits for something it waits for a CPU, too, when that has come. */
static bool is_for_cpu(const char *kind)
{
    return strcmp(kind, "run-queue") == 0 || strcmp(kind, "stopped") == 0;
}

/* Which group has the waits of a context, but those for a CPU; SIZE_MAX: none. */
static size_t group_at(struct gathering *g, uint64_t context, size_t add)
{
    int64_t n = cs_dictionary_add(&g->contexts, (const char *)&context, sizeof context);
    size_t *more = n == (int64_t)g->group_of.n ? cs_array_add(&g->group_of) : NULL;
    if (more)
        *more = add;
    return n >= 0 && (size_t)n < g->group_of.n ? g->group_of.at[n] : SIZE_MAX;
}

static int add_facts(struct gathering *g, struct cs_wait_group *group, const uint64_t *row,
                     const char *thread, const char *waker, const char *object)
{
    const struct cs_calls *waits = &g->groups->waits;
    uint32_t node = cs_calls_node(waits, row[CS_WAITS_CONTEXT]);
    uint64_t ns = row[CS_WAITS_NS];
    const struct named named = of_name(g, thread);
    bool first;
    (void)cs_wait_root(waits, node, &first);
    group->facts.ns += ns;
    group->facts.first_thread_ns += first ? ns : 0;
    group->facts.by_process_ns += is_event_from(object) ? ns : 0;
    group->facts.no_end_ns += strcmp(waker, CS_WAITS_NO_END) == 0 ? ns : 0;
    group->facts.resting_ns += !first && hardly_runs(&named) ? ns : 0;
    if (cs_wait_is_pool(waits, node))
        group->facts.pool_ns += ns;
    if (strcmp(group->kind, "sleep") == 0 && !first && !named.first && hardly_runs(&named) &&
        named.sleep_ns > named.all_ns / 100 * 97)
        group->facts.timer_ns += ns;
    if (!is_for_cpu(group->kind))
        (void)group_at(g, row[CS_WAITS_CONTEXT], (size_t)(group - g->groups->at));
    const struct cs_calls *wakers = &g->groups->wakers;
    struct cs_wait_peer_name who = {thread, first}, by = {.name = waker};
    (void)cs_wait_root(wakers, cs_calls_node(wakers, row[CS_WAITS_WAKER_CONTEXT]), &by.first);
    return cs_wait_peers_note(&g->peers, group, (size_t)(group - g->groups->at), who, by, ns);
}

static int add_length(struct cs_wait_group *group, const uint64_t *row)
{
    if (!row[CS_WAITS_COUNT])
        return 0;
    if (cs_array_room(group->lengths, group->n_lengths, group->lengths_capacity) < 0)
        return -ENOMEM;
    double mean = (double)row[CS_WAITS_NS] / (double)row[CS_WAITS_COUNT],
           longest = (double)row[CS_WAITS_LONGEST];
    group->lengths[group->n_lengths++] =
        (struct cs_wait_length){mean < longest ? mean : longest, row[CS_WAITS_COUNT]};
    return 0;
}

static int take_waits(struct gathering *g, struct cs_table *table)
{
    if (!g->named.n && take_names(g) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        const char *object = cs_table_string(table, row[CS_WAITS_OBJECT]),
                   *waker = cs_table_string(table, row[CS_WAITS_WAKER]), *via;
        int64_t n =
            group_of(g, cs_table_string(table, row[CS_WAITS_REASON]),
                     cs_table_string(table, row[CS_WAITS_CALL]), object, row[CS_WAITS_CONTEXT], waker, &via);
        if (n < 0)
            return -ENOMEM;
        struct cs_wait_group *group = &g->groups->at[n];
        int base = cs_wait_base_of(cs_table_string(table, row[CS_WAITS_REASON]),
                                   cs_table_string(table, row[CS_WAITS_CALL]));
        if (base >= 0) {
            group->base[base].ns += row[CS_WAITS_NS];
            group->base[base].count += row[CS_WAITS_COUNT];
        }
        group->ns += row[CS_WAITS_NS];
        group->count += row[CS_WAITS_COUNT];
        if (row[CS_WAITS_LONGEST] > group->longest_ns)
            group->longest_ns = row[CS_WAITS_LONGEST];
        group->bins[row[CS_WAITS_LOG2] & (CS_WAIT_BINS - 1)] += row[CS_WAITS_COUNT];
        if (add_length(group, row) < 0 ||
            add_facts(g, group, row, cs_table_string(table, row[CS_WAITS_THREAD]), waker, object) < 0 ||
            cs_wait_servers_note(&g->servers, group, (size_t)n,
                                 cs_calls_node(&g->groups->waits, row[CS_WAITS_CONTEXT]),
                                 row[CS_WAITS_NS]) < 0)
            return -ENOMEM;
        tally(g, (size_t)n, THREAD, cs_table_string(table, row[CS_WAITS_THREAD]), row[CS_WAITS_NS]);
        if (*object)
            tally(g, (size_t)n, OBJECT, object, row[CS_WAITS_NS]);
        if (*via)
            tally(g, (size_t)n, CALL, via, row[CS_WAITS_NS]);
        char place[TEXT_MAX / 2], text[TEXT_MAX];
        place_text(&g->groups->wakers, row[CS_WAITS_WAKER_CONTEXT], place, sizeof place);
        if (*place && strcmp(group->kind, "join") == 0) /* libc's code that ends a thread */
            snprintf(place, sizeof place, "its end");
        snprintf(text, sizeof text, *place ? "%s: %s" : "%s", waker, place);
        if (*waker)
            tally(g, (size_t)n, WAKER, text, row[CS_WAITS_NS]);
    }
    return 0;
}

static int add_blame_facts(struct gathering *g, struct cs_wait_group *group, const char *what,
                           struct cs_table *table, const uint64_t *row)
{
    struct cs_wait_groups *w = g->groups;
    uint64_t ns = row[CS_BLAME_NS];
    group->blamed_ns += ns;
    if (strcmp(what, "running") == 0) {
        const struct named holder = of_name(g, cs_table_string(table, row[CS_BLAME_HOLDER]));
        group->facts.by_busy_ns += ns;
        group->facts.by_own_ns += holder.all_ns ? ns : 0;
    } else if (strcmp(what, "not followed") == 0 || strcmp(what, "waiting") == 0) {
        group->facts.by_unknown_ns += ns;
        group->facts.by_wait_ns += strcmp(what, "waiting") == 0 ? ns : 0;
    } else {
        size_t at = is_for_cpu(what) ? SIZE_MAX : group_at(g, row[CS_BLAME_HOLDER_CONTEXT], SIZE_MAX);
        if (at < w->n) {
            struct cs_wait_meanwhile *more = cs_array_add(&g->meanwhile);
            if (more)
                *more = (struct cs_wait_meanwhile){(size_t)(group - w->at), at, ns};
            return more ? 0 : -ENOMEM;
        }
        bool idle = cs_wait_is_idle(cs_wait_kind(&w->waits, what, row[CS_BLAME_HOLDER_CONTEXT], ""));
        *(idle ? &group->facts.by_idle_ns : &group->facts.by_busy_ns) += ns;
        group->facts.by_wait_ns += idle ? 0 : ns;
    }
    return 0;
}

static int take_blame(struct gathering *g, struct cs_table *table)
{
    for (size_t i = 0; i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        const char *what = cs_table_string(table, row[CS_BLAME_WHAT]);
        bool running = strcmp(what, "running") == 0;
        const char *ignored;
        int64_t n =
            group_of(g, cs_table_string(table, row[CS_BLAME_REASON]), "",
                     cs_table_string(table, row[CS_BLAME_OBJECT]), row[CS_BLAME_CONTEXT], "thread", &ignored);
        if (n < 0)
            return -ENOMEM;
        char place[TEXT_MAX / 2], text[TEXT_MAX];
        place_text(running ? &g->groups->wakers : &g->groups->waits, row[CS_BLAME_HOLDER_CONTEXT], place,
                   sizeof place);
        snprintf(text, sizeof text, *place ? "%s: %s in %s" : "%s: %s",
                 cs_table_string(table, row[CS_BLAME_HOLDER]),
                 cs_wait_kind(&g->groups->waits, what, row[CS_BLAME_HOLDER_CONTEXT], ""), place);
        if (add_blame_facts(g, &g->groups->at[n], what, table, row) < 0)
            return -ENOMEM;
        tally(g, (size_t)n, BLAME, text, row[CS_BLAME_NS]);
    }
    return 0;
}

/* Blame finds the groups that waits have made. */
static int take_profiles(struct gathering *g, struct cs_store *store, const char *label, struct cs_error *err)
{
    static const struct {
        enum cs_kind kind;
        int (*take)(struct gathering *g, struct cs_table *table);
    } parts[] = {{CS_KIND_THREADS, take_threads}, {CS_KIND_WAITS, take_waits}, {CS_KIND_BLAME, take_blame}};
    const struct cs_catalog *catalog;
    const struct cs_store_profile_ref *ref;
    int rc = cs_store_catalog(store, &catalog, err);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct cs_query query = {.kind = parts[i].kind, .event = CS_WAITS_EVENT, .label = label};
        for (size_t at = 0; rc == 0 && (ref = cs_catalog_next(catalog, &query, &at));) {
            struct cs_table *table = NULL;
            rc = cs_store_load(ref, &table, err);
            if (rc == 0 && parts[i].take(g, table) < 0)
                rc = cs_fail(err, ENOMEM, "out of memory for the waits of %s", ref->file);
            cs_table_close(table);
        }
    }
    return rc;
}

/* ---- */

CS_ORDER(most_first, struct cs_wait_group, cs_order(a->reading, b->reading),
         cs_order(cs_wait_own_ns(b->kind, &b->facts), cs_wait_own_ns(a->kind, &a->facts)))

CS_ORDER(shortest_first, struct cs_wait_length, cs_order(a->ns, b->ns))

CS_ORDER(most_time_first, struct cs_wait_total, cs_order(b->ns, a->ns))

CS_ORDER(longest_first, struct cs_waiting_thread, cs_order(b->all_ns, a->all_ns))

static void name_tops(struct gathering *g)
{
    struct cs_wait_groups *w = g->groups;
    for (size_t i = 0; i < g->tallies.n; i++) {
        const struct tally *t = &g->tallies.at[i];
        if (t->group == MOVED)
            continue;
        struct cs_wait_top *top = top_of(&w->at[t->group], t->which);
        top->n++;
        if (t->ns > top->ns) {
            top->ns = t->ns;
            top->text = t->text;
        }
    }
    for (size_t i = 0; i < w->n; i++)
        if (w->at[i].call.ns)
            w->at[i].via = w->at[i].call.text;
}

/* The texts of rows go to those that took them: `into` by row. */
static void move_tallies(struct gathering *g, const size_t *into)
{
    for (size_t i = 0, n = g->tallies.n; i < n; i++) {
        const struct tally t = g->tallies.at[i];
        if (into[t.group] == MOVED)
            continue;
        tally(g, into[t.group], t.which, t.text, t.ns);
        g->tallies.at[i].group = MOVED;
    }
}

static int join_parts(struct gathering *g)
{
    struct cs_wait_groups *w = g->groups;
    size_t *took = malloc((w->n + 1) * sizeof *took);
    int rc = took ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < w->n; i++) {
        struct cs_wait_group *into = cs_wait_other_part(w, &w->at[i]);
        took[i] = into ? (size_t)(into - w->at) : MOVED;
        rc = into ? cs_wait_absorb(into, &w->at[i]) : 0;
    }
    if (rc == 0)
        move_tallies(g, took);
    free(took);
    return rc;
}

/* What another row took, and what only others' waits tell of. */
static void leave_out_empty(struct cs_wait_groups *w)
{
    size_t left = 0;
    for (size_t i = 0; i < w->n; i++) {
        if (w->at[i].ns || w->at[i].count)
            w->at[left++] = w->at[i];
        else
            free(w->at[i].lengths);
    }
    w->n = left;
}

static int read_groups(struct gathering *gathering)
{
    struct cs_wait_groups *w = gathering->groups;
    cs_wait_servers_tell(&gathering->servers, w);
    cs_wait_peers_tell(&gathering->peers, w, time_of, gathering);
    if (cs_wait_rounds(w, gathering->meanwhile.at, gathering->meanwhile.n) < 0 || join_parts(gathering) < 0)
        return -ENOMEM;
    name_tops(gathering);
    leave_out_empty(w);
    cs_wait_read_lookers(w);
    for (size_t i = 0; i < w->n; i++) {
        struct cs_wait_group *g = &w->at[i];
        if (g->facts.timed_out && g->reading == CS_WAIT_IS_IDLE)
            g->kind = "timer";
        w->idle_ns += g->reading == CS_WAIT_IS_IDLE ? g->ns : 0;
        w->either_ns += g->reading == CS_WAIT_IS_EITHER ? g->ns : 0;
    }
    return 0;
}

/* Why there are none: of that process, or at all. */
static int no_waits(struct cs_store *store, const char *label, struct cs_error *err)
{
    const struct cs_query any = {.kind = CS_KIND_THREADS, .event = CS_WAITS_EVENT};
    const struct cs_store_profile_ref *ref;
    const struct cs_catalog *catalog;
    size_t at = 0;
    bool labelled = false;
    int rc = cs_store_catalog(store, &catalog, err);
    if (rc < 0)
        return rc;
    if (!label || !(ref = cs_catalog_next(catalog, &any, &at)))
        return cs_fail(err, ENOENT, "the recording has no waits: cyclescope record --waits records them");
    for (; ref && !labelled; ref = cs_catalog_next(catalog, &any, &at))
        labelled = *ref->head->label;
    if (!labelled)
        return cs_fail(err, ENOENT,
                       "the waits aren't divided by process, so %.64s has none of its own: record with "
                       "--label command, or leave --process out",
                       label);
    return cs_fail(
        err, ENOENT,
        "no process, thread or container with waits is called %.64s: cyclescope prof --by process lists them",
        label);
}

int cs_wait_groups_open(struct cs_wait_groups *w, struct cs_store *store,
                        const struct cs_calls_wanted *wanted, struct cs_error *err)
{
    struct gathering g = {.groups = w, .servers.waits = &w->waits};
    struct cs_calls_wanted of = *wanted;
    *w = (struct cs_wait_groups){0};
    of.keys = true;
    of.event = CS_WAITS_EVENT;
    int rc = cs_calls_open(&w->waits, store, &of, err);
    of.event = CS_WAKERS_EVENT;
    if (rc == 0)
        rc = cs_calls_open(&w->wakers, store, &of, err);
    if (rc == 0 && (cs_wait_spots_make(&w->waits) < 0 || cs_wait_spots_make(&w->wakers) < 0))
        rc = cs_fail(err, ENOMEM, "out of memory for the chains of the recording's waits");
    rc = rc < 0 ? rc : take_profiles(&g, store, wanted->label, err);
    if (rc == 0 && read_groups(&g) < 0)
        rc = cs_fail(err, ENOMEM, "out of memory for the recording's waits");
    for (size_t i = 0; i < w->n; i++)
        cs_sort(w->at[i].lengths, w->at[i].n_lengths, shortest_first);
    cs_wait_refine_totals(w);
    cs_sort(w->at, w->n, most_first);
    cs_sort(w->threads, w->n_threads, longest_first);
    cs_sort(w->totals, w->n_totals, most_time_first);
    cs_dictionary_fini(&g.keys);
    cs_dictionary_fini(&g.tally_keys);
    cs_dictionary_fini(&g.threads);
    cs_dictionary_fini(&g.totals);
    cs_dictionary_fini(&g.names);
    cs_dictionary_fini(&g.contexts);
    cs_array_free(&g.named);
    cs_array_free(&g.group_of);
    cs_array_free(&g.tallies);
    cs_array_free(&g.meanwhile);
    cs_wait_servers_fini(&g.servers);
    cs_wait_peers_fini(&g.peers);
    if (rc == 0 && !w->n_totals)
        rc = no_waits(store, wanted->label, err);
    if (rc < 0)
        cs_wait_groups_close(w);
    return rc;
}

void cs_wait_groups_close(struct cs_wait_groups *w)
{
    if (w->waits.tree)
        cs_calls_close(&w->waits);
    if (w->wakers.tree)
        cs_calls_close(&w->wakers);
    cs_dictionary_fini(&w->texts);
    for (size_t i = 0; i < w->n_threads; i++)
        free(w->threads[i].totals);
    for (size_t i = 0; i < w->n; i++)
        free(w->at[i].lengths);
    free(w->threads);
    free(w->at);
    free(w->totals);
    *w = (struct cs_wait_groups){0};
}
