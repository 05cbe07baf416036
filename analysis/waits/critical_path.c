/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/waits/critical_path.h"

#include "store/array.h"
#include "store/wait_schemas.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX 1280
#define WHOLE 0.995
#define DEPTH 4 /* of threads whose waits nobody knows more of, one behind the other */

/* Threads alike: of one name, that began in one function. */
struct kind {
    const char *name;
    const struct cs_call_function *root; /* NULL: not known */
    bool first;                          /* a process's first thread */
};

enum amount_of {
    OF_ROW,     /* a row of the path: `row` */
    OF_QUEUE,   /* the same; it waits for a CPU itself */
    OF_RUNNING, /* `holder` ran until it ended the wait at `context` */
    OF_UNKNOWN, /* `holder` waited, nobody knows for what */
};

struct amount { /* of the waits of a kind */
    size_t kind;
    enum amount_of of;
    size_t row;
    const char *holder;
    uint64_t context; /* in "wakers"; of a row in "waits", with its chain */
    double ns;
};

struct blame { /* a row of the table */
    const char *holder, *what;
    uint64_t context;
    double ns;
    int64_t next; /* of the same wait; -1: none */
};

struct blamed { /* a wait: context, reason, object */
    int64_t first;
    double ns;
};

struct builder {
    struct cs_critical_path *path;
    const struct cs_wait_groups *waits;
    const struct cs_calls *running;
    const char *label; /* of these alone; NULL: all */
    struct cs_dictionary rows, functions, kinds, amounts, blamed, texts;
    CS_ARRAY(uint32_t) added; /* by function: to the piece at hand */
    uint32_t pieces;
    CS_ARRAY(struct kind) kind;
    CS_ARRAY(struct amount) amount;
    CS_ARRAY(struct blame) blame;
    CS_ARRAY(struct blamed) wait;
    bool blaming; /* the first pass */
    bool failed;  /* memory was short */
    struct cs_error *err;
};

static const char *keep(struct builder *b, const char *text)
{
    int64_t n = cs_dictionary_add(&b->texts, text, strlen(text));
    b->failed |= n < 0;
    return n < 0 ? "" : b->texts.strings[n];
}

static int64_t number_of(struct builder *b, struct cs_dictionary *dictionary, const char *key)
{
    int64_t n = cs_dictionary_add(dictionary, key, strnlen(key, KEY_MAX));
    b->failed |= n < 0;
    return n;
}

static const char *image_of(const struct cs_call_function *f)
{
    return f && f->image ? f->image->path : "";
}

static bool is_same(const struct cs_call_function *a, const struct cs_call_function *b)
{
    return a && b ? strcmp(a->brief, b->brief) == 0 && strcmp(image_of(a), image_of(b)) == 0 : a == b;
}

/* ---- rows ---- */

static size_t row_of(struct builder *b, const char *what, const struct cs_call_function *f,
                     const char *thread)
{
    struct cs_critical_path *p = b->path;
    char key[KEY_MAX];
    snprintf(key, sizeof key, "%s\n%.64s\n%s\n%s", what, thread, f ? f->brief : "", image_of(f));
    int64_t n = number_of(b, &b->rows, key);
    if (n >= 0 && (size_t)n == p->n) {
        if (cs_array_room(p->rows, p->n, p->capacity) < 0)
            n = -1;
        else
            p->rows[p->n++] = (struct cs_path_row){keep(b, what), f, keep(b, thread), 0};
    }
    b->failed |= n < 0 || (size_t)n >= p->n;
    return n < 0 ? 0 : (size_t)n;
}

/* Once for each piece, however often it recurs. */
static void add_to_function(struct builder *b, const struct cs_call_function *f, double ns)
{
    struct cs_critical_path *p = b->path;
    char key[KEY_MAX];
    snprintf(key, sizeof key, "%s\n%s", f->brief, image_of(f));
    int64_t n = number_of(b, &b->functions, key);
    if (n >= 0 && (size_t)n == p->n_functions) {
        uint32_t *more = cs_array_add(&b->added);
        if (!more || cs_array_room(p->functions, p->n_functions, p->functions_capacity) < 0)
            n = -1;
        else
            p->functions[p->n_functions++] = (struct cs_path_function){f, 0};
    }
    if (n < 0 || (size_t)n >= p->n_functions) {
        b->failed = true;
        return;
    }
    if (b->added.at[n] != b->pieces)
        p->functions[n].ns += ns;
    b->added.at[n] = b->pieces;
}

/* A piece of the path, whose chain ends at `node`; 0: it has none. */
static void add(struct builder *b, size_t row, const struct cs_calls *calls, uint32_t node, double ns)
{
    if (row < b->path->n)
        b->path->rows[row].ns += ns;
    b->pieces++;
    for (; node && !b->failed; node = cs_contexts_at(calls->tree, node)->parent)
        if (cs_wait_is_own(cs_calls_function(calls, node)))
            add_to_function(b, cs_calls_function(calls, node), ns);
}

/* ---- who ---- */

static size_t kind_of(struct builder *b, const char *name, const struct cs_calls *calls, uint32_t node)
{
    struct kind kind = {.name = name};
    char key[KEY_MAX];
    kind.root = cs_wait_root(calls, node, &kind.first);
    snprintf(key, sizeof key, "%d%.64s\n%s\n%s", kind.first, name, kind.root ? kind.root->brief : "",
             image_of(kind.root));
    int64_t n = number_of(b, &b->kinds, key);
    if (n >= 0 && (size_t)n == b->kind.n) {
        struct kind *more = cs_array_add(&b->kind);
        kind.name = keep(b, name);
        if (more)
            *more = kind;
    }
    b->failed |= n < 0 || (size_t)n >= b->kind.n;
    return n < 0 ? 0 : (size_t)n;
}

struct who { /* kinds of threads */
    const char *name;
    bool first, any; /* any: first threads and others can't be told apart, or needn't be */
};

static bool is_of(const struct kind *k, const struct who *who)
{
    return strcmp(k->name, who->name) == 0 && (who->any || k->first == who->first);
}

static struct who who_is(const struct builder *b, const char *name, bool first)
{
    struct who who = {name, first, false};
    for (size_t i = 0; i < b->kind.n; i++)
        if (is_of(&b->kind.at[i], &who))
            return who;
    who.any = true;
    return who;
}

/* Whether a chain of samples, which have no name, is one of those threads'. */
static bool began_as(const struct builder *b, const struct who *who, uint32_t node)
{
    bool first, known = false;
    const struct cs_call_function *root = cs_wait_root(b->running, node, &first);
    if (!who->any && who->first)
        return first;
    for (size_t i = 0; i < b->kind.n; i++) {
        const struct kind *k = &b->kind.at[i];
        if (!is_of(k, who) || !k->root)
            continue;
        known = true;
        if (k->first == first && is_same(k->root, root))
            return true;
    }
    return !known && (who->any || !first);
}

/* ---- the tables ---- */

static void add_amount(struct builder *b, struct amount amount)
{
    char key[KEY_MAX];
    snprintf(key, sizeof key, "%zu %d %zu %" PRIx64 " %.64s", amount.kind, amount.of, amount.row,
             amount.context, amount.holder ? amount.holder : "");
    int64_t n = number_of(b, &b->amounts, key);
    if (n >= 0 && (size_t)n == b->amount.n) {
        struct amount *more = cs_array_add(&b->amount);
        if (more) {
            *more = amount;
            more->ns = 0;
        }
    }
    b->failed |= n < 0 || (size_t)n >= b->amount.n;
    if (n >= 0 && (size_t)n < b->amount.n)
        b->amount.at[n].ns += amount.ns;
}

static int64_t wait_of(struct builder *b, uint64_t context, const char *reason, const char *object)
{
    char key[KEY_MAX];
    snprintf(key, sizeof key, "%" PRIx64 " %s %s", context, reason, object);
    int64_t n = number_of(b, &b->blamed, key);
    if (n >= 0 && (size_t)n == b->wait.n) {
        struct blamed *more = cs_array_add(&b->wait);
        if (more)
            *more = (struct blamed){.first = -1};
    }
    b->failed |= n < 0 || (size_t)n >= b->wait.n;
    return n >= 0 && (size_t)n < b->wait.n ? n : -1;
}

static void take_blame(struct builder *b, struct cs_table *table)
{
    for (size_t i = 0; i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        int64_t n = wait_of(b, row[CS_BLAME_CONTEXT], cs_table_string(table, row[CS_BLAME_REASON]),
                            cs_table_string(table, row[CS_BLAME_OBJECT]));
        struct blame *more = n < 0 ? NULL : cs_array_add(&b->blame);
        if (!more) {
            b->failed = true;
            return;
        }
        *more = (struct blame){.holder = keep(b, cs_table_string(table, row[CS_BLAME_HOLDER])),
                               .what = keep(b, cs_table_string(table, row[CS_BLAME_WHAT])),
                               .context = row[CS_BLAME_HOLDER_CONTEXT],
                               .ns = (double)row[CS_BLAME_NS],
                               .next = b->wait.at[n].first};
        b->wait.at[n].first = (int64_t)b->blame.n - 1;
        b->wait.at[n].ns += more->ns;
    }
}

static struct amount part_of(struct builder *b, size_t kind, const struct blame *part)
{
    const struct cs_calls *waits = &b->waits->waits;
    struct amount a = {.kind = kind, .holder = part->holder, .context = part->context};
    if (strcmp(part->what, "running") == 0) {
        a.of = OF_RUNNING;
    } else if (strcmp(part->what, "waiting") == 0) {
        a.of = OF_UNKNOWN;
    } else {
        bool known = strcmp(part->what, "not followed") != 0;
        const struct cs_call_function *f =
            known ? cs_wait_place(waits, cs_calls_node(waits, part->context), NULL) : NULL;
        a.row = row_of(b, known ? cs_wait_kind(waits, part->what, part->context, "") : part->what, f,
                       part->holder);
        a.holder = NULL;
        a.context = known ? part->context : 0;
    }
    return a;
}

static void take_waits(struct builder *b, struct cs_table *table)
{
    const struct cs_calls *waits = &b->waits->waits;
    for (size_t i = 0; i < cs_table_rows(table) && !b->failed; i++) {
        const uint64_t *row = cs_table_row(table, i);
        const char *reason = cs_table_string(table, row[CS_WAITS_REASON]),
                   *object = cs_table_string(table, row[CS_WAITS_OBJECT]),
                   *waker = cs_table_string(table, row[CS_WAITS_WAKER]);
        uint32_t node = cs_calls_node(waits, row[CS_WAITS_CONTEXT]);
        const char *thread = cs_table_string(table, row[CS_WAITS_THREAD]);
        bool queue = strcmp(reason, "run-queue") == 0;
        size_t kind = kind_of(b, thread, waits, node);
        int64_t n = !queue && *waker && strcmp(waker, "[interrupt]") != 0
                        ? wait_of(b, row[CS_WAITS_CONTEXT], reason, object)
                        : -1;
        const struct blamed *blamed = n < 0 ? NULL : &b->wait.at[n];
        double ns = (double)row[CS_WAITS_NS];
        if (!blamed || blamed->first < 0) {
            size_t own = row_of(b, cs_wait_kind(waits, reason, row[CS_WAITS_CONTEXT], object),
                                cs_wait_place(waits, node, NULL), thread);
            add_amount(b, (struct amount){.kind = kind,
                                          .of = queue ? OF_QUEUE : OF_ROW,
                                          .row = own,
                                          .context = row[CS_WAITS_CONTEXT],
                                          .ns = ns});
            continue;
        }
        for (int64_t at = blamed->first; at >= 0; at = b->blame.at[at].next) {
            struct amount part = part_of(b, kind, &b->blame.at[at]);
            part.ns = blamed->ns > 0 ? ns * b->blame.at[at].ns / blamed->ns : 0;
            add_amount(b, part);
        }
    }
}

static int take_profile(const struct cs_store_profile_ref *ref, void *arg)
{
    struct builder *b = arg;
    struct cs_table *table = NULL;
    if ((b->label && !cs_store_label_is(ref->head->label, b->label)) ||
        strcmp(ref->head->event, CS_WAITS_EVENT) != 0 ||
        strcmp(ref->kind, b->blaming ? "blame" : "waits") != 0)
        return 0;
    int rc = cs_store_load(ref, &table, b->err);
    if (rc < 0)
        return rc;
    if (cs_schema_equal(cs_table_schema(table), &cs_schema_blame))
        take_blame(b, table);
    else if (cs_schema_equal(cs_table_schema(table), &cs_schema_waits))
        take_waits(b, table);
    cs_table_close(table);
    return b->failed ? cs_fail(b->err, ENOMEM, "out of memory for the waits of %s", ref->file) : 0;
}

/* ---- what ran ---- */

static double self_of(const struct builder *b, uint32_t node)
{
    return cs_wait_is_program(b->running, node) ? (double)cs_contexts_at(b->running->tree, node)->self : 0;
}

/* Samples below `top`; of 0: all that began as `who` did. */
static double ran(const struct builder *b, uint32_t top, const struct who *who)
{
    double all = 0;
    uint32_t node = top;
    unsigned depth;
    do {
        double self = node ? self_of(b, node) : 0;
        all += self > 0 && (top || began_as(b, who, node)) ? self : 0;
    } while ((node = cs_contexts_next(b->running->tree, top, node, &depth)) != 0);
    return all;
}

static void share_out(struct builder *b, uint32_t top, const struct who *who, double ns, double of)
{
    uint32_t node = top;
    unsigned depth;
    do {
        double self = node ? self_of(b, node) : 0;
        if (self > 0 && (top || began_as(b, who, node)))
            add(b, row_of(b, "running", cs_wait_place(b->running, node, NULL), who->name), b->running, node,
                ns * self / of);
    } while ((node = cs_contexts_next(b->running->tree, top, node, &depth)) != 0);
}

static uint32_t child_of(const struct cs_calls *calls, uint32_t node, const struct cs_call_function *f)
{
    uint32_t child = cs_contexts_at(calls->tree, node)->first_child;
    while (child && !is_same(cs_calls_function(calls, child), f))
        child = cs_contexts_at(calls->tree, child)->next_sibling;
    return child;
}

/* Where the samples of the threads at `node` of "wakers" are: the innermost function around it of which there are samples for
 * `ns`. Who hands something on made it before, in what called that. 0: there are none. */
static uint32_t around(const struct builder *b, uint32_t node, double ns)
{
    const struct cs_calls *wakers = &b->waits->wakers;
    uint32_t chain[256], n = 0, at = 0, best = 0;
    double an_ns = b->running->total ? (double)b->waits->on_ns / (double)b->running->total : 0;
    for (; node && n < sizeof chain / sizeof *chain; node = cs_contexts_at(wakers->tree, node)->parent)
        chain[n++] = node;
    while (n-- > 0 && (at = child_of(b->running, at, cs_calls_function(wakers, chain[n]))) != 0) {
        const struct cs_context *c = cs_contexts_at(b->running->tree, at);
        if (best && (double)c->total * an_ns < ns)
            break;
        best = cs_wait_place(b->running, at, NULL) ? at
                                                   : best; /* else thread and thread's begin are still one */
    }
    return best;
}

static void add_running(struct builder *b, const struct amount *a, double ns)
{
    const struct cs_calls *wakers = &b->waits->wakers;
    uint32_t node = cs_calls_node(wakers, a->context), top = around(b, node, a->ns);
    bool first;
    (void)cs_wait_root(wakers, node, &first);
    struct who who = who_is(b, a->holder, first);
    double of = ran(b, top, &who);
    if (of > 0)
        share_out(b, top, &who, ns, of);
    else
        add(b, row_of(b, "running", cs_wait_place(wakers, node, NULL), a->holder), wakers, node, ns);
}

/* ---- the path ---- */

enum waits { ALL_WAITS, ITS_QUEUE, ALL_BUT_QUEUE }; /* queue: for a CPU */

static bool is_among(const struct builder *b, const struct amount *a, const struct who *who, enum waits which)
{
    return is_of(&b->kind.at[a->kind], who) &&
           (which == ALL_WAITS || (a->of == OF_QUEUE) == (which == ITS_QUEUE));
}

/* `ns` of such waits, as those threads had them. */
static void add_waits(struct builder *b, const struct who *who, enum waits which, double ns, unsigned depth)
{
    double all = 0;
    for (size_t i = 0; i < b->amount.n && depth < DEPTH; i++)
        all += is_among(b, &b->amount.at[i], who, which) ? b->amount.at[i].ns : 0;
    if (all <= 0) {
        add(b, row_of(b, which == ITS_QUEUE ? "run-queue" : "waiting", NULL, who->name), NULL, 0, ns);
        return;
    }
    for (size_t i = 0; i < b->amount.n && ns > 0; i++) {
        const struct amount *a = &b->amount.at[i];
        double part = ns * a->ns / all;
        struct who other = {0};
        if (!is_among(b, a, who, which))
            continue;
        switch (a->of) {
        case OF_RUNNING:
            add_running(b, a, part);
            break;
        case OF_UNKNOWN:
            other = who_is(b, a->holder, false);
            add_waits(b, &other, ALL_WAITS, part, depth + 1);
            break;
        case OF_ROW:
        case OF_QUEUE:
            add(b, a->row, &b->waits->waits, cs_calls_node(&b->waits->waits, a->context), part);
        }
    }
}

struct times {
    double all, on, stolen, queue;
};

static const struct cs_waiting_thread *first_thread(const struct cs_wait_groups *w)
{
    for (size_t i = 0; i < w->n_threads; i++) /* longest first */
        if (w->threads[i].pid == w->threads[i].tid)
            return &w->threads[i];
    return w->n_threads ? &w->threads[0] : NULL;
}

/* Exact, of the thread or threads; sets who they are. False: there is none. */
static bool times_of(struct builder *b, const char *name, struct who *who, struct times *t)
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
    *who = who_is(b, one->name, !others);
    b->path->thread = one->name;
    b->path->pid = one->pid;
    for (size_t i = 0; i < w->n_threads; i++) {
        const struct cs_waiting_thread *o = &w->threads[i];
        if (name ? strcmp(o->name, name) != 0 || (others && o->tid == o->pid) : o != one)
            continue;
        b->path->n_threads++;
        b->path->pid = o->pid == one->pid ? b->path->pid : 0;
        t->all += (double)o->all_ns;
        t->on += (double)o->on_ns;
        t->stolen += (double)o->stolen_ns;
        t->queue += (double)o->run_queue_ns;
    }
    return true;
}

static int most_first(const void *left, const void *right)
{
    const struct cs_path_row *a = left, *b = right;
    return (a->ns < b->ns) - (a->ns > b->ns);
}

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

static int most_in_first(const void *left, const void *right)
{
    const struct cs_path_function *a = left, *b = right;
    return (a->ns < b->ns) - (a->ns > b->ns);
}

static int make(struct builder *b, const char *thread)
{
    struct times t = {0};
    struct who who;
    if (!times_of(b, thread, &who, &t))
        return cs_fail(b->err, ENOENT, "no thread is called %s: waits --by thread lists them",
                       thread ? thread : "that");
    b->path->all_ns = t.all;
    double of = ran(b, 0, &who), rest = t.all - t.on - t.stolen - t.queue;
    if (of > 0)
        share_out(b, 0, &who, t.on, of);
    else
        add(b, row_of(b, "running", NULL, who.name), NULL, 0, t.on);
    add(b, row_of(b, "stolen", NULL, who.name), NULL, 0, t.stolen);
    add_waits(b, &who, ITS_QUEUE, t.queue, 0);
    add_waits(b, &who, ALL_BUT_QUEUE, rest > 0 ? rest : 0, 0);
    return b->failed ? cs_fail(b->err, ENOMEM, "out of memory for the critical path") : 0;
}

int cs_critical_path_make(struct cs_critical_path *path, struct cs_store *store,
                          const struct cs_calls_wanted *wanted, const struct cs_wait_groups *waits,
                          const struct cs_calls *running, const char *thread, struct cs_error *err)
{
    struct builder b = {.path = path, .waits = waits, .running = running, .label = wanted->label, .err = err};
    int rc = 0;
    *path = (struct cs_critical_path){0};
    for (unsigned pass = 0; rc == 0 && pass < 2; pass++) {
        b.blaming = pass == 0;
        rc = cs_store_each(store, take_profile, &b, err);
    }
    rc = rc == 0 ? make(&b, thread) : rc;
    cs_dictionary_fini(&b.rows);
    cs_dictionary_fini(&b.functions);
    cs_array_free(&b.added);
    cs_dictionary_fini(&b.kinds);
    cs_dictionary_fini(&b.amounts);
    cs_dictionary_fini(&b.blamed);
    cs_array_free(&b.kind);
    cs_array_free(&b.amount);
    cs_array_free(&b.blame);
    cs_array_free(&b.wait);
    path->texts = b.texts;
    if (path->n)
        qsort(path->rows, path->n, sizeof *path->rows, most_first);
    leave_out_whole(path);
    if (path->n_functions)
        qsort(path->functions, path->n_functions, sizeof *path->functions, most_in_first);
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
