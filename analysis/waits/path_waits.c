/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/waits/path_waits.h"

#include "store/catalog.h"
#include "store/table/wait_schemas.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX 1280
#define QUEUE "run-queue"
#define SEEN 0.9

static const char *keep(struct path_builder *b, const char *text)
{
    int64_t n = cs_dictionary_add(&b->texts, text, strlen(text));
    b->failed |= n < 0;
    return n < 0 ? "" : b->texts.strings[n];
}

static int64_t number_of(struct path_builder *b, struct cs_dictionary *dictionary, const char *key)
{
    int64_t n = cs_dictionary_add(dictionary, key, strnlen(key, KEY_MAX));
    b->failed |= n < 0;
    return n;
}

static const char *image_of(const struct cs_call_function *f)
{
    return f && f->image ? f->image->path : "";
}

bool path_is_same(const struct cs_call_function *a, const struct cs_call_function *b)
{
    return a && b ? strcmp(a->brief, b->brief) == 0 && strcmp(image_of(a), image_of(b)) == 0 : a == b;
}

/* ---- rows ---- */

size_t path_row_of(struct path_builder *b, const char *what, const struct cs_call_function *f,
                   const char *thread)
{
    assert(what && thread);
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

static void add_to_part(struct path_builder *b, size_t function, const char *thread, double ns)
{
    int64_t *first = &b->first_part.at[function], i = *first;
    while (i >= 0 && strcmp(b->part.at[i].thread, thread) != 0)
        i = b->part.at[i].next;
    if (i < 0) {
        struct path_part *more = cs_array_add(&b->part);
        if (!more) {
            b->failed = true;
            return;
        }
        *more = (struct path_part){.thread = thread, .next = *first};
        i = *first = (int64_t)b->part.n - 1;
    }
    b->part.at[i].ns += ns;
}

/* Once for each piece, however often it recurs. `thread`: that ran; NULL: it waited. */
static void add_to_function(struct path_builder *b, const struct cs_call_function *f, const char *thread,
                            double ns)
{
    struct cs_critical_path *p = b->path;
    char key[KEY_MAX];
    snprintf(key, sizeof key, "%s\n%s", f->brief, image_of(f));
    int64_t n = number_of(b, &b->functions, key);
    if (n >= 0 && (size_t)n == p->n_functions) {
        uint32_t *more = cs_array_add(&b->added);
        int64_t *part = cs_array_add(&b->first_part);
        if (part)
            *part = -1;
        if (!more || !part || cs_array_room(p->functions, p->n_functions, p->functions_capacity) < 0)
            n = -1;
        else
            p->functions[p->n_functions++] = (struct cs_path_function){.function = f};
    }
    if (n < 0 || (size_t)n >= p->n_functions) {
        b->failed = true;
        return;
    }
    if (b->added.at[n] != b->pieces) {
        p->functions[n].ns += ns;
        if (thread)
            add_to_part(b, (size_t)n, thread, ns);
    }
    b->added.at[n] = b->pieces;
}

void path_add(struct path_builder *b, size_t row, const struct cs_calls *calls, uint32_t node, double ns)
{
    assert(row < b->path->n || b->failed);
    const struct cs_path_row *of = row < b->path->n ? &b->path->rows[row] : NULL;
    const char *thread = of && strcmp(of->what, "running") == 0 ? of->thread : NULL;
    if (of)
        b->path->rows[row].ns += ns;
    b->pieces++;
    if (of && cs_wait_is_idle(of->what)) /* no function would save any of it */
        return;
    for (; node && !b->failed; node = cs_contexts_at(calls->tree, node)->parent)
        if (cs_wait_is_own(calls, node))
            add_to_function(b, cs_calls_function(calls, node), thread, ns);
}

/* ---- who ---- */

static size_t kind_of(struct path_builder *b, const char *name, const struct cs_calls *calls, uint32_t node)
{
    struct path_kind kind = {.name = name};
    char key[KEY_MAX];
    kind.root = cs_wait_root(calls, node, &kind.first);
    kind.base = cs_wait_base(calls, node);
    snprintf(key, sizeof key, "%d%.64s\n%s\n%s", kind.first, name, kind.root ? kind.root->brief : "",
             image_of(kind.root));
    int64_t n = number_of(b, &b->kinds, key);
    if (n >= 0 && (size_t)n == b->kind.n) {
        struct path_kind *more = cs_array_add(&b->kind);
        kind.name = keep(b, name);
        if (more)
            *more = kind;
    }
    b->failed |= n < 0 || (size_t)n >= b->kind.n;
    return n < 0 ? 0 : (size_t)n;
}

bool path_is_of(const struct path_kind *k, const struct path_who *who)
{
    return strcmp(k->name, who->name) == 0 && (who->any || k->first == who->first);
}

struct path_who path_who_is(const struct path_builder *b, const char *name, bool first)
{
    return (struct path_who){.name = name, .first = first, .any = !b->tells_first};
}

bool path_began_as(const struct path_builder *b, const struct path_who *who, uint32_t node)
{
    bool first, known = false, others = false;
    const struct cs_call_function *root = cs_wait_root(b->running, node, &first),
                                  *base = cs_wait_base(b->running, node);
    if (!who->any && who->first != first)
        return false;
    for (size_t i = 0; i < b->kind.n; i++) {
        const struct path_kind *k = &b->kind.at[i];
        bool same = k->root && k->first == first &&
                    (path_is_same(k->root, root) || (root == base && path_is_same(k->base, base))),
             mine = path_is_of(k, who);
        if (same && mine)
            return true;
        known |= mine && k->root;
        others |= same;
    }
    return !known && !others; /* it never waited, and nobody else is known to have begun there */
}

/* ---- the tables ---- */

static void add_amount(struct path_builder *b, struct path_amount amount)
{
    char key[KEY_MAX];
    snprintf(key, sizeof key, "%zu %d %zu %" PRIx64 " %.64s", amount.kind, amount.of, amount.row,
             amount.context, amount.holder ? amount.holder : "");
    int64_t n = number_of(b, &b->amounts, key);
    if (n >= 0 && (size_t)n == b->amount.n) {
        struct path_amount *more = cs_array_add(&b->amount);
        if (more) {
            *more = amount;
            more->ns = more->own_ns = more->open_ns = 0;
        }
    }
    b->failed |= n < 0 || (size_t)n >= b->amount.n;
    if (n >= 0 && (size_t)n < b->amount.n) {
        b->amount.at[n].ns += amount.ns;
        b->amount.at[n].own_ns += amount.own_ns;
        b->amount.at[n].open_ns += amount.open_ns;
    }
}

static struct path_whose *whose_of(struct path_builder *b, uint64_t context, const char *thread, bool queue)
{
    char key[KEY_MAX];
    snprintf(key, sizeof key, "%" PRIx64 " %d %.64s", context, queue, thread);
    int64_t n = number_of(b, &b->contexts, key);
    if (n >= 0 && (size_t)n == b->whose.n) {
        struct path_whose *more = cs_array_add(&b->whose);
        if (more)
            *more = (struct path_whose){0};
    }
    b->failed |= n < 0 || (size_t)n >= b->whose.n;
    return n >= 0 && (size_t)n < b->whose.n ? &b->whose.at[n] : NULL;
}

static void see(struct path_builder *b, const struct cs_table *table, const uint64_t *row, bool queue,
                uint64_t from_ns, uint64_t to_ns)
{
    struct path_whose *w = to_ns > from_ns ? whose_of(b, row[CS_WAIT_TIMES_CONTEXT],
                                                      cs_table_string(table, row[CS_WAIT_TIMES_NAME]), queue)
                                           : NULL;
    if (!w)
        return;
    w->seen_ns += (double)(to_ns - from_ns);
    if (row[CS_WAIT_TIMES_TID] == b->one->tid && row[CS_WAIT_TIMES_PID] == b->one->pid)
        w->own_ns += (double)(to_ns - from_ns);
}

static void take_times(struct path_builder *b, struct cs_table *table)
{
    for (size_t i = 0; i < cs_table_rows(table) && b->one && !b->failed; i++) {
        const uint64_t *row = cs_table_row(table, i);
        const char *what = cs_table_string(table, row[CS_WAIT_TIMES_WHAT]);
        uint64_t begin = row[CS_WAIT_TIMES_BEGIN], wake = row[CS_WAIT_TIMES_WAKE],
                 end = row[CS_WAIT_TIMES_END];
        if (strcmp(what, CS_WAIT_TIMES_THREAD) == 0)
            continue;
        bool woken = wake > begin && wake < end;
        see(b, table, row, strcmp(what, QUEUE) == 0, begin, woken ? wake : end);
        if (woken)
            see(b, table, row, true, wake, end);
    }
}

static void sum_waits(struct path_builder *b, struct cs_table *table)
{
    for (size_t i = 0; i < cs_table_rows(table) && b->one && !b->failed; i++) {
        const uint64_t *row = cs_table_row(table, i);
        struct path_whose *w =
            whose_of(b, row[CS_WAITS_CONTEXT], cs_table_string(table, row[CS_WAITS_THREAD]),
                     strcmp(cs_table_string(table, row[CS_WAITS_REASON]), QUEUE) == 0);
        if (w)
            w->all_ns += (double)row[CS_WAITS_NS];
    }
}

/* Only the longest waits have a number, so a context of which many have none tells of nobody. */
static void say_whose(struct path_builder *b, struct path_amount *a, uint64_t context, const char *thread,
                      bool queue)
{
    const struct path_whose *w = b->one ? whose_of(b, context, thread, queue) : NULL;
    bool known = w && w->seen_ns > 0 && w->seen_ns >= SEEN * w->all_ns;
    a->own_ns = known ? a->ns * w->own_ns / w->seen_ns : 0;
    a->open_ns = known ? 0 : a->ns;
}

static int64_t wait_of(struct path_builder *b, uint64_t context, const char *reason, const char *object)
{
    char key[KEY_MAX];
    snprintf(key, sizeof key, "%" PRIx64 " %s %s", context, reason, object);
    int64_t n = number_of(b, &b->blamed, key);
    if (n >= 0 && (size_t)n == b->wait.n) {
        struct path_blamed *more = cs_array_add(&b->wait);
        if (more)
            *more = (struct path_blamed){.first = -1};
    }
    b->failed |= n < 0 || (size_t)n >= b->wait.n;
    return n >= 0 && (size_t)n < b->wait.n ? n : -1;
}

static void take_blame(struct path_builder *b, struct cs_table *table)
{
    for (size_t i = 0; i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        int64_t n = wait_of(b, row[CS_BLAME_CONTEXT], cs_table_string(table, row[CS_BLAME_REASON]),
                            cs_table_string(table, row[CS_BLAME_OBJECT]));
        struct path_blame *more = n < 0 ? NULL : cs_array_add(&b->blame);
        if (!more) {
            b->failed = true;
            return;
        }
        *more = (struct path_blame){.holder = keep(b, cs_table_string(table, row[CS_BLAME_HOLDER])),
                                    .what = keep(b, cs_table_string(table, row[CS_BLAME_WHAT])),
                                    .context = row[CS_BLAME_HOLDER_CONTEXT],
                                    .ns = (double)row[CS_BLAME_NS],
                                    .next = b->wait.at[n].first};
        b->wait.at[n].first = (int64_t)b->blame.n - 1;
        b->wait.at[n].ns += more->ns;
    }
}

static struct path_amount part_of(struct path_builder *b, size_t kind, const struct path_blame *part)
{
    const struct cs_calls *waits = &b->waits->waits;
    struct path_amount a = {.kind = kind, .holder = part->holder, .context = part->context};
    if (strcmp(part->what, "running") == 0) {
        a.of = OF_RUNNING;
    } else if (strcmp(part->what, "waiting") == 0) {
        a.of = OF_UNKNOWN;
    } else {
        a.row = path_row_of(b, cs_wait_kind(waits, part->what, part->context, ""),
                            cs_wait_place(waits, cs_calls_node(waits, part->context), NULL), part->holder);
        a.holder = NULL;
    }
    return a;
}

static void add_own(struct path_builder *b, size_t kind, const struct cs_table *table, const uint64_t *row,
                    double ns)
{
    const struct cs_calls *waits = &b->waits->waits;
    uint64_t context = row[CS_WAITS_CONTEXT];
    const char *reason = cs_table_string(table, row[CS_WAITS_REASON]),
               *what = cs_wait_kind(waits, reason, context, cs_table_string(table, row[CS_WAITS_OBJECT]));
    const struct cs_call_function *f = cs_wait_place(waits, cs_calls_node(waits, context), NULL);
    const char *thread = cs_table_string(table, row[CS_WAITS_THREAD]);
    bool queue = strcmp(reason, QUEUE) == 0;
    struct path_amount own = {.kind = kind,
                              .of = queue ? OF_QUEUE : OF_ROW,
                              .row = path_row_of(b, what, f, thread),
                              .context = context,
                              .ns = ns};
    say_whose(b, &own, context, thread, queue);
    add_amount(b, own);
}

static void take_waits(struct path_builder *b, struct cs_table *table)
{
    const struct cs_calls *waits = &b->waits->waits;
    for (size_t i = 0; i < cs_table_rows(table) && !b->failed; i++) {
        const uint64_t *row = cs_table_row(table, i);
        const char *reason = cs_table_string(table, row[CS_WAITS_REASON]),
                   *object = cs_table_string(table, row[CS_WAITS_OBJECT]),
                   *waker = cs_table_string(table, row[CS_WAITS_WAKER]);
        uint32_t node = cs_calls_node(waits, row[CS_WAITS_CONTEXT]);
        const char *thread = cs_table_string(table, row[CS_WAITS_THREAD]);
        if (b->skips_pools && cs_wait_is_pool(waits, node))
            continue;
        bool queue = strcmp(reason, QUEUE) == 0;
        size_t kind = kind_of(b, thread, waits, node);
        int64_t n = !queue && *waker && strcmp(waker, CS_WAITS_INTERRUPT) != 0
                        ? wait_of(b, row[CS_WAITS_CONTEXT], reason, object)
                        : -1;
        const struct path_blamed *blamed = n < 0 ? NULL : &b->wait.at[n];
        double ns = (double)row[CS_WAITS_NS], own_ns = blamed && blamed->first >= 0 ? 0 : ns;
        for (int64_t at = blamed ? blamed->first : -1; at >= 0; at = b->blame.at[at].next) {
            const struct path_blame *of = &b->blame.at[at];
            double part_ns = blamed->ns > 0 ? ns * of->ns / blamed->ns : 0;
            if (strcmp(of->what, "not followed") == 0) {
                own_ns += part_ns; /* what the waiter called says more than a name outside the program */
                continue;
            }
            struct path_amount part = part_of(b, kind, of);
            part.ns = part_ns;
            say_whose(b, &part, row[CS_WAITS_CONTEXT], thread, queue);
            add_amount(b, part);
        }
        if (own_ns > 0)
            add_own(b, kind, table, row, own_ns);
    }
}

int path_take_profiles(struct path_builder *b, struct cs_store *store)
{
    static const struct {
        enum cs_kind kind;
        void (*take)(struct path_builder *b, struct cs_table *table);
    } parts[] = {{CS_KIND_BLAME, take_blame},
                 {CS_KIND_WAIT_TIMES, take_times},
                 {CS_KIND_WAITS, sum_waits},
                 {CS_KIND_WAITS, take_waits}};
    const struct cs_catalog *catalog;
    const struct cs_store_profile_ref *ref;
    int rc = cs_store_catalog(store, &catalog, b->err);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct cs_query query = {.kind = parts[i].kind, .event = CS_WAITS_EVENT, .label = b->label};
        for (size_t at = 0; rc == 0 && (ref = cs_catalog_next(catalog, &query, &at));) {
            struct cs_table *table = NULL;
            rc = cs_store_load(ref, &table, b->err);
            if (rc == 0)
                parts[i].take(b, table);
            if (b->failed)
                rc = cs_fail(b->err, ENOMEM, "out of memory for the waits of %s", ref->file);
            cs_table_close(table);
        }
    }
    return rc;
}
