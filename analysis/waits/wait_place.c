/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store of a day has many rows for each chain, and chains share their callers. What a chain says is found once, from its
 * caller's. */
#include "analysis/waits/wait_place.h"

#include "analysis/waits/wait_function.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What the chain from the root to a node says. */
struct cs_wait_spot {
    const struct cs_call_function *place, *via, *root, *base; /* base: the root in code of the machine */
    const struct cs_call_function *way; /* the innermost way to wait; where there is no place */
    unsigned said;                      /* by all of its functions */
    bool own;                           /* of the node's function */
    bool rooted, looped; /* the root is a Python function; the way isn't what a thread begins with */
};

/* A Python function calls another, or is called by the interpreter. */
static struct cs_wait_spot below_script(const struct cs_wait_spot *caller, const struct cs_call_function *f,
                                        unsigned said)
{
    struct cs_wait_spot s = *caller;
    s.said = (s.said & ~(unsigned)(JOIN | (said & (POOL | QUEUE) ? 0 : POOL))) | (said & ~(unsigned)WAY);
    s.own = !(said & WAY);
    if (said & CHILD) /* the chain began in its parent, whose first thread it isn't */
        s.said &= ~(unsigned)FIRST;
    s.rooted = s.rooted && !(said & BEGINS);
    if (!s.rooted && !(said & THREADING)) {
        s.root = f;
        s.rooted = true;
    }
    s.via = NULL;
    if (!(said & WAY)) {
        s.place = f;
        s.way = NULL;
        s.looped = false;
        return s;
    }
    if (s.place && (said & BEGINS || cs_wait_said_by(s.place) & INTERPRETER))
        s.place = NULL;
    if (!s.looped || said & BEGINS) {
        s.way = f;
        s.looped = !(said & THREADING);
    }
    return s;
}

static struct cs_wait_spot below(const struct cs_wait_spot *caller, const struct cs_call_function *f,
                                 unsigned said)
{
    if (said & SCRIPT)
        return below_script(caller, f, said);
    struct cs_wait_spot s = *caller;
    s.said |= said;
    s.own = (said & (PROGRAM | LIBRARY | INTERPRETER)) == PROGRAM;
    if (!(said & PROGRAM))
        return s;
    if ((said & INTERPRETER) && (caller->said & SCRIPT)) {
        s.via = NULL;
        return s;
    }
    if (said & LIBRARY) {
        if ((s.said & SCRIPT) && begins(f->brief, "pthread_cond_")) /* for the lock of the interpreter */
            s.said &= ~(unsigned)POOL;
        s.via = s.via || !f->known ? s.via : f; /* the outermost: the one that was called */
        return s;
    }
    if (!s.root)
        s.root = s.base = f;
    if (said & WAY) {
        s.way = f;
    } else {
        s.place = f;
        s.via = s.way = NULL;
    }
    return s;
}

int cs_wait_spots_make(struct cs_calls *calls)
{
    const uint32_t n = cs_contexts_count(calls->tree);
    unsigned *said = malloc((calls->n_functions + 1) * sizeof *said), scripts = 0;
    struct cs_wait_spot *spots = calloc(n, sizeof *spots);
    if (!said || !spots) {
        free(said);
        free(spots);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < calls->n_functions; i++)
        scripts |= (said[i] = cs_wait_said_by(&calls->functions[i]));
    for (uint32_t i = 0; !(scripts & SCRIPT) && i < calls->n_functions; i++)
        said[i] &= ~(unsigned)INTERPRETER;
    for (uint32_t node = 1; node < n; node++) {
        const struct cs_context *c = cs_contexts_at(calls->tree, node);
        assert(c->parent < node); /* callers were there before */
        spots[node] = below(&spots[c->parent], &calls->functions[c->offset], said[c->offset]);
    }
    free(said);
    free(calls->by_node);
    calls->by_node = spots;
    return 0;
}

static const struct cs_wait_spot *spot_at(const struct cs_calls *calls, uint32_t node)
{
    assert(calls->by_node);
    return (const struct cs_wait_spot *)calls->by_node + node;
}

bool cs_wait_is_own(const struct cs_calls *calls, uint32_t node)
{
    return spot_at(calls, node)->own;
}

const struct cs_call_function *cs_wait_place(const struct cs_calls *calls, uint32_t node,
                                             const struct cs_call_function **via)
{
    const struct cs_wait_spot *s = spot_at(calls, node);
    if (via)
        *via = s->via;
    return s->place ? s->place : s->way;
}

const struct cs_call_function *cs_wait_root(const struct cs_calls *calls, uint32_t node, bool *first_thread)
{
    const struct cs_wait_spot *s = spot_at(calls, node);
    *first_thread = s->said & FIRST;
    return s->root;
}

const struct cs_call_function *cs_wait_base(const struct cs_calls *calls, uint32_t node)
{
    return spot_at(calls, node)->base;
}

bool cs_wait_is_program(const struct cs_calls *calls, uint32_t node)
{
    return spot_at(calls, node)->said & PROGRAM;
}

bool cs_wait_is_pool(const struct cs_calls *calls, uint32_t node)
{
    return spot_at(calls, node)->said & POOL;
}

const char *cs_wait_kind(const struct cs_calls *waits, const char *reason, uint64_t context,
                         const char *object)
{
    static const struct {
        const char *begins, *kind;
    } names[] = {{"pthread_mutex_", "mutex"},    {"__lll_", "mutex"},
                 {"pthread_cond_", "condition"}, {"pthread_rwlock_", "rwlock"},
                 {"pthread_join", "join"},       {"pthread_timedjoin", "join"},
                 {"pthread_clockjoin", "join"},  {"__pthread_clockjoin", "join"},
                 {"sem_", "semaphore"},          {"__new_sem_wait", "semaphore"},
                 {"pthread_barrier", "barrier"}, {"pthread_spin", "mutex"},
                 {"flockfile", "mutex"}};
    const char *refined = strchr(reason, ':');
    if (refined)
        return refined + 1;
    if (strcmp(reason, "lock") != 0)
        return reason;
    if (strstr(object, ", dead lock"))
        return "dead-lock";
    if (begins(object, "pi "))
        return "pi-mutex";
    const struct cs_wait_spot *spot = spot_at(waits, cs_calls_node(waits, context));
    if (spot->said & MONITOR)
        return "monitor";
    if (spot->said & SLEEP)
        return "sleep";
    if (spot->said & JOIN)
        return "join";
    const struct cs_call_function *via = spot->via;
    for (size_t i = 0; via && i < sizeof names / sizeof *names; i++)
        if (begins(via->brief, names[i].begins))
            return names[i].kind;
    return "lock";
}
