/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/waits/critical_path.h"

#include "analysis/waits/path_waits.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE 0.995
#define THROUGHOUT 0.9
#define ROUNDS 4 /* of threads whose waits nobody knows more of, one behind the other */

/* ---- what ran ---- */

static double self_of(const struct path_builder *b, uint32_t node)
{
    return cs_wait_is_program(b->running, node) ? (double)cs_contexts_at(b->running->tree, node)->self : 0;
}

/* Samples below `top`; of 0: all that began as `who` did. */
static double ran(const struct path_builder *b, uint32_t top, const struct path_who *who)
{
    double all = 0;
    uint32_t node = top;
    unsigned depth;
    do {
        double self = node ? self_of(b, node) : 0;
        all += self > 0 && (top || path_began_as(b, who, node)) ? self : 0;
    } while ((node = cs_contexts_next(b->running->tree, top, node, &depth)) != 0);
    return all;
}

static void share_out(struct path_builder *b, uint32_t top, const struct path_who *who, double ns, double of)
{
    uint32_t node = top;
    unsigned depth;
    do {
        double self = node ? self_of(b, node) : 0;
        if (self > 0 && (top || path_began_as(b, who, node)))
            path_add(b, path_row_of(b, "running", cs_wait_place(b->running, node, NULL), who->name),
                     b->running, node, ns * self / of);
    } while ((node = cs_contexts_next(b->running->tree, top, node, &depth)) != 0);
}

static uint32_t child_of(const struct cs_calls *calls, uint32_t node, const struct cs_call_function *f)
{
    uint32_t child = cs_contexts_at(calls->tree, node)->first_child;
    while (child && !path_is_same(cs_calls_function(calls, child), f))
        child = cs_contexts_at(calls->tree, child)->next_sibling;
    return child;
}

/* Are there samples for `ns`, as far as so few tell? What ran for 0.80 s may have samples for 0.79. */
static bool has_samples_for(double samples, double an_ns, double ns)
{
    return (samples + 2 * sqrt(samples)) * an_ns >= 0.95 * ns;
}

/* Where the samples of the threads at `node` of "wakers" are: the innermost function around it of which there are samples for
 * `ns`. Who hands something on made it before, in what called that. 0: there are none. */
static uint32_t around(const struct path_builder *b, uint32_t node, double ns)
{
    const struct cs_calls *wakers = &b->waits->wakers;
    uint32_t chain[256], n = 0, at = 0, best = 0;
    double an_ns = b->running->total ? (double)b->waits->on_ns / (double)b->running->total : 0;
    for (; node && n < sizeof chain / sizeof *chain; node = cs_contexts_at(wakers->tree, node)->parent)
        chain[n++] = node;
    while (n-- > 0 && (at = child_of(b->running, at, cs_calls_function(wakers, chain[n]))) != 0) {
        const struct cs_context *c = cs_contexts_at(b->running->tree, at);
        if (best && !has_samples_for((double)c->total, an_ns, ns))
            break;
        best = cs_wait_place(b->running, at, NULL) ? at
                                                   : best; /* else thread and thread's begin are still one */
    }
    return best;
}

static void add_running(struct path_builder *b, const struct path_amount *a, double ns)
{
    const struct cs_calls *wakers = &b->waits->wakers;
    uint32_t node = cs_calls_node(wakers, a->context), top = around(b, node, a->ns);
    bool first;
    const struct cs_call_function *root = cs_wait_root(wakers, node, &first);
    struct path_who who = path_who_is(b, a->holder, first);
    who.any |= !root && !first; /* the end of a process has a short chain, or none */
    double of = ran(b, top, &who);
    if (of > 0)
        share_out(b, top, &who, ns, of);
    else
        path_add(b, path_row_of(b, "running", cs_wait_place(wakers, node, NULL), a->holder), wakers, node,
                 ns);
}

/* ---- the path ---- */

enum waits { ALL_WAITS, ITS_QUEUE, ALL_BUT_QUEUE }; /* queue: for a CPU */

/* How much of an amount counts: of the path's one thread its own waits, and those that may be its own. */
static double among(const struct path_builder *b, const struct path_amount *a, const struct path_who *who,
                    enum waits which)
{
    bool alike = path_is_of(&b->kind.at[a->kind], who);
    if (which != ALL_WAITS && (a->of == OF_QUEUE) != (which == ITS_QUEUE))
        return 0;
    if (who->one)
        return a->own_ns + (alike ? a->open_ns : 0);
    return alike ? a->ns : 0;
}

/* Waits that nobody knows more of, by whose they are. */
struct unknown {
    struct cs_dictionary names;
    CS_ARRAY(double) ns;
};

static void unknown_fini(struct unknown *u)
{
    cs_dictionary_fini(&u->names);
    cs_array_free(&u->ns);
    *u = (struct unknown){0};
}

static void add_unknown(struct path_builder *b, struct unknown *u, const char *name, double ns)
{
    int64_t n = cs_dictionary_add(&u->names, name, strlen(name));
    double *more = n == (int64_t)u->ns.n ? cs_array_add(&u->ns) : NULL;
    if (more)
        *more = 0;
    if (n < 0 || (size_t)n >= u->ns.n)
        b->failed = true;
    else
        u->ns.at[n] += ns;
}

/* `ns` of such waits, as those threads had them. */
static void add_waits(struct path_builder *b, const struct path_who *who, enum waits which, double ns,
                      struct unknown *unknown)
{
    double all = 0;
    for (size_t i = 0; i < b->amount.n; i++)
        all += among(b, &b->amount.at[i], who, which);
    if (all <= 0) {
        path_add(b, path_row_of(b, which == ITS_QUEUE ? "run-queue" : "waiting", NULL, who->name), NULL, 0,
                 ns);
        return;
    }
    for (size_t i = 0; i < b->amount.n && ns > 0; i++) {
        const struct path_amount *a = &b->amount.at[i];
        double part = ns * among(b, a, who, which) / all;
        if (part <= 0)
            continue;
        switch (a->of) {
        case OF_RUNNING:
            add_running(b, a, part);
            break;
        case OF_UNKNOWN:
            add_unknown(b, unknown, a->holder, part);
            break;
        case OF_ROW:
        case OF_QUEUE:
            path_add(b, a->row, &b->waits->waits, cs_calls_node(&b->waits->waits, a->context), part);
        }
    }
}

/* They are divided as all waits of the threads of that name, a few times; what is left then stays unknown. */
static void divide_unknown(struct path_builder *b, struct unknown *now)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct unknown next = {0};
        for (size_t i = 0; i < now->ns.n; i++)
            add_waits(b, &(struct path_who){.name = now->names.strings[i], .any = true}, ALL_WAITS,
                      now->ns.at[i], &next);
        unknown_fini(now);
        *now = next;
    }
    for (size_t i = 0; i < now->ns.n; i++)
        path_add(b, path_row_of(b, "waiting", NULL, now->names.strings[i]), NULL, 0, now->ns.at[i]);
}

struct times {
    double all, on, stolen, queue;
};

/* Of the processes that were there nearly throughout the one that came first: a server may outlive the program that started it. */
static const struct cs_waiting_thread *first_thread(const struct cs_wait_groups *w)
{
    const struct cs_waiting_thread *longest = NULL, *first = NULL;
    for (size_t i = 0; i < w->n_threads; i++) { /* longest first */
        const struct cs_waiting_thread *t = &w->threads[i];
        if (t->pid != t->tid)
            continue;
        longest = longest ? longest : t;
        if (!first || ((double)t->all_ns > THROUGHOUT * (double)longest->all_ns && t->pid < first->pid))
            first = t;
    }
    return first ? first : w->n_threads ? &w->threads[0] : NULL;
}

/* Exact, of the thread or threads; sets who they are. False: there is none. */
static bool times_of(struct path_builder *b, const char *name, struct path_who *who, struct times *t)
{
    const struct cs_wait_groups *w = b->waits;
    const struct cs_waiting_thread *one = name ? NULL : first_thread(w);
    bool others = false;
    for (size_t i = 0; i < w->n_threads && name; i++)
        if (strcmp(w->threads[i].name, name) == 0) {
            others |= w->threads[i].tid != w->threads[i].pid;
            one = one ? one : &w->threads[i];
        }
    if (!one)
        return false;
    *who = path_who_is(b, one->name, name ? !others : one->tid == one->pid);
    b->sums_threads = !one->tid; /* the daemon's: all threads of that name */
    who->any |= b->sums_threads;
    who->one = b->one != NULL;
    b->path->thread = one->name;
    for (size_t i = 0; i < w->n_threads; i++) {
        const struct cs_waiting_thread *o = &w->threads[i];
        if (name ? strcmp(o->name, name) != 0 || (others && o->tid == o->pid) : o != one)
            continue;
        b->path->n_threads++;
        t->all += (double)o->all_ns;
        t->on += (double)o->on_ns;
        t->stolen += (double)o->stolen_ns;
        t->queue += (double)o->run_queue_ns;
    }
    return true;
}

CS_ORDER(most_first, struct cs_path_row, cs_order(b->ns, a->ns))

/* Functions around all of the path, as main, say nothing: of them the innermost stays, which was met first. */
static void leave_out_whole(struct cs_critical_path *p)
{
    bool met = false;
    size_t left = 0;
    for (size_t i = 0; i < p->n_functions; i++) {
        bool whole = p->functions[i].ns > WHOLE * p->all_ns;
        if (!whole || !met)
            p->functions[left++] = p->functions[i];
        met |= whole;
    }
    p->n_functions = left;
}

CS_ORDER(most_in_first, struct cs_path_function, cs_order(b->ns, a->ns))

static bool tells_first(const struct cs_calls *running)
{
    unsigned depth;
    bool first = false;
    for (uint32_t node = 0; !first && (node = cs_contexts_next(running->tree, 0, node, &depth)) != 0;)
        if (cs_contexts_at(running->tree, node)->self)
            (void)cs_wait_root(running, node, &first);
    return first;
}

static int make(struct path_builder *b, const char *thread)
{
    struct times t = {0};
    struct path_who who;
    struct unknown unknown = {0};
    b->tells_first = tells_first(b->running);
    if (!times_of(b, thread, &who, &t))
        return cs_fail(b->err, ENOENT, "no thread is called %s: waits --by thread lists them",
                       thread ? thread : "that");
    b->path->all_ns = t.all;
    double of = ran(b, 0, &who), rest = t.all - t.on - t.stolen - t.queue;
    if (of > 0)
        share_out(b, 0, &who, t.on, of);
    else
        path_add(b, path_row_of(b, "running", NULL, who.name), NULL, 0, t.on);
    path_add(b, path_row_of(b, "stolen", NULL, who.name), NULL, 0, t.stolen);
    add_waits(b, &who, ITS_QUEUE, t.queue, &unknown);
    add_waits(b, &who, ALL_BUT_QUEUE, rest > 0 ? rest : 0, &unknown);
    divide_unknown(b, &unknown);
    unknown_fini(&unknown);
    path_bound_savings(b);
    return b->failed ? cs_fail(b->err, ENOMEM, "out of memory for the critical path") : 0;
}

int cs_critical_path_make(struct cs_critical_path *path, struct cs_store *store,
                          const struct cs_calls_wanted *wanted, const struct cs_wait_groups *waits,
                          struct cs_calls *running, const char *thread, struct cs_error *err)
{
    assert(running->tree);
    struct path_builder b = {.path = path,
                             .waits = waits,
                             .running = running,
                             .label = wanted->label,
                             .one = thread ? NULL : first_thread(waits),
                             .err = err,
                             .skips_pools = !thread};
    *path = (struct cs_critical_path){0};
    b.one = b.one && b.one->tid ? b.one : NULL; /* the daemon's are sums of threads */
    int rc = cs_wait_spots_make(running);
    rc = rc < 0 ? cs_fail(err, ENOMEM, "out of memory for the critical path") : path_take_profiles(&b, store);
    rc = rc == 0 ? make(&b, thread) : rc;
    cs_dictionary_fini(&b.rows);
    cs_dictionary_fini(&b.functions);
    cs_array_free(&b.added);
    cs_array_free(&b.first_part);
    cs_array_free(&b.part);
    cs_dictionary_fini(&b.kinds);
    cs_dictionary_fini(&b.amounts);
    cs_dictionary_fini(&b.blamed);
    cs_dictionary_fini(&b.contexts);
    cs_array_free(&b.kind);
    cs_array_free(&b.amount);
    cs_array_free(&b.blame);
    cs_array_free(&b.wait);
    cs_array_free(&b.whose);
    path->texts = b.texts;
    cs_sort(path->rows, path->n, most_first);
    leave_out_whole(path);
    cs_sort(path->functions, path->n_functions, most_in_first);
    while (path->n && path->rows[path->n - 1].ns <= 0)
        path->n--;
    if (rc < 0)
        cs_critical_path_fini(path);
    return rc;
}

void cs_critical_path_fini(struct cs_critical_path *path)
{
    cs_dictionary_fini(&path->texts);
    free(path->rows);
    free(path->functions);
    *path = (struct cs_critical_path){0};
}
