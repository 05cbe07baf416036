/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/waits/wait_rounds.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 16
#define LOOKS_ON 4 /* others work for a part of its sleep at least */

static bool is_for_end(const struct cs_wait_group *g)
{
    return strcmp(g->kind, "child") == 0 || strcmp(g->kind, "join") == 0;
}

static bool is_for_time(const struct cs_wait_group *g)
{
    return g->facts.timed_out || strcmp(g->kind, "sleep") == 0;
}

/* Processes that wait for one another, for time and for work in one function, as PostgreSQL's do for its locks. */
static bool is_one_loop(const struct cs_wait_group *waiter, const struct cs_wait_group *on)
{
    return strcmp(waiter->kind, "events") == 0 && strcmp(on->kind, "events") == 0 && waiter->function &&
           waiter->function == on->function;
}

static void add_meanwhile(struct cs_wait_groups *w, const struct cs_wait_meanwhile *m)
{
    assert(m->waiter < w->n && m->on < w->n);
    struct cs_wait_group *waiter = &w->at[m->waiter], *on = &w->at[m->on];
    const bool idle = on->reading == CS_WAIT_IS_IDLE || cs_wait_is_idle(on->kind);
    if (idle && is_one_loop(waiter, on)) {
        waiter->facts.by_unknown_ns += m->ns;
        return;
    }
    *(idle ? &waiter->facts.by_idle_ns : &waiter->facts.by_busy_ns) += m->ns;
    waiter->facts.by_wait_ns += idle ? 0 : m->ns;
    waiter->facts.by_time_ns += !idle && is_for_time(on) ? m->ns : 0;
    if (waiter == on || waiter->reading != CS_WAIT_IS_WAIT || cs_wait_is_idle(waiter->kind))
        return;
    on->facts.blocks_ns += m->ns;
    on->facts.keeps_ns += is_for_end(waiter) ? 0 : m->ns;
}

int cs_wait_rounds(struct cs_wait_groups *w, const struct cs_wait_meanwhile *meanwhile, size_t n)
{
    assert(meanwhile || n == 0);
    struct cs_wait_facts *alone = w->n ? malloc(w->n * sizeof *alone) : NULL;
    if (w->n && !alone)
        return -ENOMEM;
    for (size_t i = 0; i < w->n; i++)
        alone[i] = w->at[i].facts;
    bool changed = w->n > 0;
    for (unsigned round = 0; round < ROUNDS && changed; round++) {
        changed = false;
        for (size_t i = 0; i < w->n; i++)
            w->at[i].facts = alone[i];
        for (size_t i = 0; i < n; i++)
            add_meanwhile(w, &meanwhile[i]);
        for (size_t i = 0; i < w->n; i++) {
            enum cs_wait_reading reading = cs_wait_reading_of(w->at[i].kind, &w->at[i].facts);
            changed |= reading != w->at[i].reading;
            w->at[i].reading = reading;
        }
    }
    free(alone);
    return 0;
}

/* ---- one row of two ---- */

struct cs_wait_group *cs_wait_other_part(struct cs_wait_groups *w, const struct cs_wait_group *from)
{
    for (size_t i = 0; from->facts.timed_out && from->reading == CS_WAIT_IS_WAIT && i < w->n; i++) {
        struct cs_wait_group *g = &w->at[i];
        if (!g->facts.timed_out && g->reading == CS_WAIT_IS_WAIT && g->ns && g->function == from->function &&
            strcmp(g->kind, from->kind) == 0 && strcmp(g->via, from->via) == 0)
            return g;
    }
    return NULL;
}

static void add_facts(struct cs_wait_facts *f, const struct cs_wait_facts *of)
{
    f->ns += of->ns;
    f->by_idle_ns += of->by_idle_ns;
    f->by_busy_ns += of->by_busy_ns;
    f->by_own_ns += of->by_own_ns;
    f->by_unknown_ns += of->by_unknown_ns;
    f->by_process_ns += of->by_process_ns;
    f->by_wait_ns += of->by_wait_ns;
    f->by_time_ns += of->by_time_ns;
    f->no_end_ns += of->no_end_ns;
    f->first_thread_ns += of->first_thread_ns;
    f->resting_ns += of->resting_ns;
    f->timer_ns += of->timer_ns;
    f->pool_ns += of->pool_ns;
    f->serving_ns += of->serving_ns;
    f->handed_ns += of->handed_ns;
    f->working_ns += of->working_ns;
    f->blocks_ns += of->blocks_ns;
    f->keeps_ns += of->keeps_ns;
}

int cs_wait_absorb(struct cs_wait_group *into, struct cs_wait_group *from)
{
    for (size_t i = 0; i < from->n_lengths; i++) {
        if (cs_array_room(into->lengths, into->n_lengths, into->lengths_capacity) < 0)
            return -ENOMEM;
        into->lengths[into->n_lengths++] = from->lengths[i];
    }
    into->ns += from->ns;
    into->count += from->count;
    if (from->longest_ns > into->longest_ns)
        into->longest_ns = from->longest_ns;
    for (unsigned b = 0; b < CS_WAIT_BINS; b++)
        into->bins[b] += from->bins[b];
    for (unsigned b = 0; b < CS_WAIT_BASES; b++) {
        into->base[b].ns += from->base[b].ns;
        into->base[b].count += from->base[b].count;
    }
    into->blamed_ns += from->blamed_ns;
    add_facts(&into->facts, &from->facts);
    free(from->lengths);
    *from = (struct cs_wait_group){.kind = from->kind, .where = "", .via = "", .reading = CS_WAIT_IS_IDLE};
    return 0;
}

/* ---- who looks on ---- */

/* A thread of that process, not its first one, works for so long, or waits for that within its work. */
static bool works_beside(const struct cs_wait_groups *w, const struct cs_wait_group *sleep, uint64_t pid)
{
    uint64_t on_ns = 0;
    for (size_t i = 0; i < w->n_threads; i++)
        if (w->threads[i].pid == pid && w->threads[i].tid != pid)
            on_ns += w->threads[i].on_ns;
    if (on_ns > sleep->ns / LOOKS_ON)
        return true;
    for (size_t g = 0; g < w->n; g++) {
        const struct cs_wait_group *of = &w->at[g];
        if (of == sleep || of->reading != CS_WAIT_IS_WAIT || !of->thread.text ||
            of->facts.first_thread_ns > of->facts.ns / 2 ||
            cs_wait_own_ns(of->kind, &of->facts) < (double)sleep->ns / LOOKS_ON)
            continue;
        for (size_t i = 0; i < w->n_threads; i++)
            if (w->threads[i].pid == pid && w->threads[i].tid != pid &&
                strcmp(w->threads[i].name, of->thread.text) == 0)
                return true;
    }
    return false;
}

static bool looks_on(const struct cs_wait_groups *w, const struct cs_wait_group *sleep)
{
    for (size_t i = 0; i < w->n_threads; i++) {
        const struct cs_waiting_thread *t = &w->threads[i];
        if (t->tid && t->tid == t->pid && strcmp(t->name, sleep->thread.text) == 0)
            return works_beside(w, sleep, t->pid);
    }
    return false;
}

void cs_wait_read_lookers(struct cs_wait_groups *w)
{
    for (size_t i = 0; i < w->n; i++) {
        struct cs_wait_group *g = &w->at[i];
        if (is_for_time(g) && g->reading == CS_WAIT_IS_WAIT && g->thread.text &&
            g->facts.first_thread_ns > g->facts.ns / 2 && g->facts.blocks_ns <= g->facts.ns / 10 &&
            looks_on(w, g))
            g->reading = CS_WAIT_IS_EITHER;
    }
}

/* ---- who serves ---- */

static size_t number_of(const struct cs_calls *calls, const struct cs_call_function *f)
{
    return (size_t)(f - calls->functions);
}

static uint32_t parent_of(const struct cs_calls *calls, uint32_t node)
{
    return cs_contexts_at(calls->tree, node)->parent;
}

static bool is_own(const struct cs_calls *calls, uint32_t node)
{
    return cs_wait_is_own(calls, node);
}

/* The next of its own functions outwards that isn't the outermost: where a thread begins says nothing of what it does. */
static uint32_t next_inner(const struct cs_calls *calls, uint32_t node)
{
    while (node && !is_own(calls, node))
        node = parent_of(calls, node);
    for (uint32_t outer = node ? parent_of(calls, node) : 0; outer; outer = parent_of(calls, outer))
        if (is_own(calls, outer))
            return node;
    return 0;
}

static int note_client(struct cs_wait_servers *s, uint32_t node)
{
    uint16_t below = 1;
    if (!s->below && !(s->below = calloc(s->waits->n_functions, sizeof *s->below)))
        return -ENOMEM;
    for (node = next_inner(s->waits, node); node && below < UINT16_MAX;
         node = next_inner(s->waits, parent_of(s->waits, node)), below++) {
        uint16_t *at = &s->below[number_of(s->waits, cs_calls_function(s->waits, node))];
        *at = !*at || below < *at ? below : *at;
    }
    return 0;
}

int cs_wait_servers_note(struct cs_wait_servers *s, const struct cs_wait_group *group, size_t number,
                         uint32_t node, uint64_t ns)
{
    if (strcmp(group->kind, "client") == 0)
        return note_client(s, node);
    if (!cs_wait_is_for_work(group->kind) && strcmp(group->kind, "events") != 0)
        return 0;
    struct cs_wait_deferred *more = cs_array_add(&s->deferred);
    if (more)
        *more = (struct cs_wait_deferred){node, number, ns};
    return more ? 0 : -ENOMEM;
}

/* The innermost of its functions that serves clients: it waits deeper in it than for them. */
static bool serves(const struct cs_wait_servers *s, uint32_t node)
{
    unsigned below = 1;
    for (node = next_inner(s->waits, node); node; node = next_inner(s->waits, parent_of(s->waits, node))) {
        uint16_t client = s->below[number_of(s->waits, cs_calls_function(s->waits, node))];
        if (client)
            return below > client;
        below++;
    }
    return false;
}

void cs_wait_servers_tell(const struct cs_wait_servers *s, struct cs_wait_groups *w)
{
    enum { UNKNOWN, NO, YES };
    uint8_t *by_node = s->below ? calloc(cs_contexts_count(s->waits->tree), 1) : NULL;
    for (size_t i = 0; s->below && i < s->deferred.n; i++) {
        const struct cs_wait_deferred *d = &s->deferred.at[i];
        uint8_t said = by_node ? by_node[d->node] : UNKNOWN;
        if (said == UNKNOWN)
            said = serves(s, d->node) ? YES : NO;
        if (by_node)
            by_node[d->node] = said;
        w->at[d->group].facts.serving_ns += said == YES ? d->ns : 0;
    }
    free(by_node);
}

void cs_wait_servers_fini(struct cs_wait_servers *s)
{
    free(s->below);
    cs_array_free(&s->deferred);
}
