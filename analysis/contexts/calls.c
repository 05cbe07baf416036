/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of chains added up, then every context put below its caller's innermost function. */
#include "analysis/contexts/calls.h"
#include "analysis/contexts/functions.h"
#include "store/base/bisect.h"

#include "store/base/array.h"
#include "store/base/order.h"
#include "store/catalog.h"
#include "store/table/dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX (1u << 20) /* of a report: beyond, rare contexts fold (store/contexts.h) */

struct one_label { /* a tree, and where its chains are put */
    char label[64];
    struct cs_contexts *contexts;
};

struct loading {
    const struct cs_calls_wanted *wanted;
    CS_ARRAY(struct one_label) labels;
    struct cs_dictionary numbers; /* of labels */
};

static struct one_label *tree_of(struct loading *l, const char *label)
{
    const char *key = l->wanted->by_label ? label : "";
    int64_t n = cs_dictionary_add(&l->numbers, key, strlen(key));
    if (n < 0 || (size_t)n > l->labels.n)
        return NULL;
    if ((size_t)n < l->labels.n)
        return &l->labels.at[n];
    struct one_label *one = cs_array_add(&l->labels);
    if (!one)
        return NULL;
    *one = (struct one_label){.contexts = NULL};
    memcpy(one->label, key, strnlen(key, sizeof one->label - 1));
    one->contexts = cs_contexts_open();
    return one->contexts ? one : NULL;
}

static int take_profile(struct loading *l, const struct cs_store_profile_ref *ref, struct cs_error *err)
{
    struct one_label *one = tree_of(l, ref->head->label);
    struct cs_table *table = NULL;
    int rc = one ? cs_store_load(ref, &table, err) : cs_fail(err, ENOMEM, "out of memory for call contexts");
    if (rc == 0 &&
        (cs_contexts_take(one->contexts, table) < 0 || cs_contexts_fold(one->contexts, NODES_MAX) < 0))
        rc = cs_fail(err, ENOMEM, "out of memory for the contexts of %s", ref->file);
    cs_table_close(table);
    return rc;
}

static int take_profiles(struct loading *l, struct cs_store *store, const struct cs_catalog **catalog,
                         struct cs_error *err)
{
    const struct cs_query query = {.label = l->wanted->label, .epoch = l->wanted->epoch};
    const struct cs_store_profile_ref *ref;
    char event[64];
    int rc = cs_store_catalog(store, catalog, err);
    for (size_t at = 0; rc == 0 && (ref = cs_catalog_next(*catalog, &query, &at));)
        if (cs_contexts_of(ref, event) && strcmp(event, l->wanted->event) == 0)
            rc = take_profile(l, ref, err);
    return rc;
}

int cs_calls_contexts(struct cs_store *store, const struct cs_calls_wanted *wanted, struct cs_contexts **out,
                      struct cs_error *err)
{
    struct cs_calls_wanted all = *wanted;
    all.by_label = false;
    struct loading l = {.wanted = &all};
    const struct cs_catalog *catalog;
    int rc = tree_of(&l, "") ? take_profiles(&l, store, &catalog, err)
                             : cs_fail(err, ENOMEM, "out of memory for call contexts");
    *out = rc == 0 ? l.labels.at[0].contexts : NULL;
    if (*out)
        cs_contexts_sum(*out);
    else if (l.labels.n)
        cs_contexts_close(l.labels.at[0].contexts);
    cs_array_free(&l.labels);
    cs_dictionary_fini(&l.numbers);
    return rc;
}

/* All places of all labels' contexts, each once: whatever the number of labels, each image is opened once and each place named once. */
struct naming {
    struct cs_contexts *places; /* below its root */
    struct cs_call_frames *frames;
    uint32_t *pool;
};

static int64_t place_of(const struct naming *n, const struct cs_contexts *contexts, uint32_t node)
{
    const struct cs_context *c = cs_contexts_at(contexts, node);
    int64_t image = cs_contexts_image(n->places, cs_contexts_image_id(contexts, c->image));
    return image < 0 ? image : cs_contexts_child(n->places, CS_CONTEXTS_ROOT, (uint32_t)image, c->offset);
}

/* A place has the samples of those chains that enter its image there. */
static int add_places(struct naming *n, struct cs_contexts *contexts, bool weigh)
{
    uint64_t all = cs_contexts_sum(contexts);
    if (weigh)
        cs_contexts_add(n->places, CS_CONTEXTS_ROOT, all);
    for (uint32_t i = 1; i < cs_contexts_count(contexts); i++) {
        const struct cs_context *c = cs_contexts_at(contexts, i);
        int64_t place = place_of(n, contexts, i);
        if (place < 0)
            return -ENOMEM;
        if (!c->parent || cs_contexts_at(contexts, c->parent)->image != c->image)
            cs_contexts_add(n->places, (uint32_t)place, c->total);
    }
    return 0;
}

static int name_places(struct naming *n, struct cs_calls *calls, struct cs_store *store, struct loading *l,
                       struct cs_error *err)
{
    int rc = (n->places = cs_contexts_open()) ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < l->labels.n; i++)
        rc = add_places(n, l->labels.at[i].contexts, l->wanted->plain_rare);
    if (rc < 0 || !(n->frames = calloc(cs_contexts_count(n->places), sizeof *n->frames)))
        return cs_fail(err, ENOMEM, "out of memory for call contexts");
    return cs_call_frames_of(calls, store, n->places, l->wanted->inlines, n->frames, &n->pool, err);
}

static void naming_fini(struct naming *n)
{
    cs_contexts_close(n->places);
    free(n->frames);
    free(n->pool);
}

/* The contexts of one label as functions, below `top`. */
static int add_functions(struct cs_calls *calls, const struct naming *naming,
                         const struct cs_contexts *contexts, uint32_t top, bool keys)
{
    uint32_t n = cs_contexts_count(contexts);
    uint32_t *node = calloc(n, sizeof *node);
    int rc = node ? 0 : -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        const struct cs_context *c = cs_contexts_at(contexts, i);
        int64_t at = i ? node[c->parent] : top, place = i ? place_of(naming, contexts, i) : 0;
        const struct cs_call_frames *frames = i && place >= 0 ? &naming->frames[place] : NULL;
        for (unsigned k = 0; at >= 0 && frames && k < frames->n; k++) {
            uint32_t f = frames->functions[k];
            /* Frames of an image without names, one below the other, would be a wall: they are one. */
            if (calls->functions[f].known || !at || cs_contexts_at(calls->tree, (uint32_t)at)->offset != f)
                at = cs_contexts_child(calls->tree, (uint32_t)at, k ? CS_CALL_INLINED : 0, f);
        }
        if (at < 0 || place < 0)
            rc = -ENOMEM;
        else
            cs_contexts_add(calls->tree, node[i] = (uint32_t)at, c->self);
        if (rc == 0 && i && keys) {
            rc = cs_array_room(calls->by_key, calls->n_keys, calls->keys_capacity);
            if (rc == 0)
                calls->by_key[calls->n_keys++] = (struct cs_call_key){c->key, node[i]};
        }
    }
    free(node);
    return rc;
}

/* Each function's self and total: on a path the outermost frame of a function counts, so that recursion counts once. */
static int count_functions(struct cs_calls *calls, struct cs_error *err)
{
    uint32_t *on_path = calloc(calls->n_functions, sizeof *on_path), *stack = NULL;
    size_t capacity = 0;
    unsigned depth = 0, before = 0;
    int rc = on_path ? 0 : -ENOMEM;
    calls->total = cs_contexts_sum(calls->tree);
    for (uint32_t i = 0; rc == 0 && (i = cs_contexts_next(calls->tree, 0, i, &depth)); before = depth) {
        const struct cs_context *c = cs_contexts_at(calls->tree, i);
        for (; stack && before >= depth; before--)
            on_path[stack[before]]--;
        rc = cs_array_reserve_in(stack, (size_t)depth + 1, capacity);
        if (rc < 0)
            break;
        struct cs_call_function *f = &calls->functions[c->offset];
        stack[depth] = (uint32_t)c->offset;
        f->self += c->self;
        f->total += on_path[c->offset]++ ? 0 : c->total;
    }
    free(on_path);
    free(stack);
    return rc < 0 ? cs_fail(err, ENOMEM, "out of memory for %u functions", calls->n_functions) : 0;
}

static int by_start(const void *left, const void *right, void *arg)
{
    const struct cs_calls *calls = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint64_t x = calls->functions[a].start, y = calls->functions[b].start;
    return x != y ? (x > y ? 1 : -1) : (a > b) - (a < b);
}

int cs_calls_sort(struct cs_calls *calls, struct cs_error *err)
{
    free(calls->by_start);
    calls->by_start = calloc(calls->n_functions, sizeof *calls->by_start);
    if (!calls->by_start)
        return cs_fail(err, ENOMEM, "out of memory for %u functions", calls->n_functions);
    for (uint32_t i = 0; i < calls->n_functions; i++)
        calls->by_start[i] = i;
    qsort_r(calls->by_start, calls->n_functions, sizeof *calls->by_start, by_start, calls);
    return 0;
}

CS_ORDER(ascending, struct cs_call_key, cs_order(a->key, b->key))

int cs_calls_open(struct cs_calls *calls, struct cs_store *store, const struct cs_calls_wanted *wanted,
                  struct cs_error *err)
{
    struct loading l = {.wanted = wanted};
    struct naming naming = {0};
    *calls = (struct cs_calls){.tree = cs_contexts_open(),
                               .keys = cs_table_open(&cs_schema_stacks),
                               .names = cs_table_open(&cs_schema_stacks)};
    int rc = 0;
    if (!calls->tree || !calls->keys || !calls->names || cs_contexts_image(calls->tree, "inlined") < 0 ||
        cs_call_function_number(calls, NULL, "", 0, 0) < 0)
        rc = cs_fail(err, ENOMEM, "out of memory for call contexts");
    rc = rc < 0 ? rc : take_profiles(&l, store, &calls->catalog, err);
    rc = rc < 0 ? rc : name_places(&naming, calls, store, &l, err);
    for (size_t i = 0; rc == 0 && i < l.labels.n; i++) {
        int64_t top = CS_CONTEXTS_ROOT;
        if (wanted->by_label) {
            int64_t f = cs_call_function_number(
                calls, NULL, *l.labels.at[i].label ? l.labels.at[i].label : CS_CALLS_UNLABELLED, 0, 0);
            top = f < 0 ? f : cs_contexts_child(calls->tree, CS_CONTEXTS_ROOT, 0, (uint64_t)f);
        }
        if (top < 0 ||
            add_functions(calls, &naming, l.labels.at[i].contexts, (uint32_t)top, wanted->keys) < 0)
            rc = cs_fail(err, ENOMEM, "out of memory for call contexts");
    }
    cs_sort(calls->by_key, calls->n_keys, ascending);
    rc = rc < 0 ? rc : count_functions(calls, err);
    rc = rc < 0 ? rc : cs_calls_sort(calls, err);
    for (size_t i = 0; i < l.labels.n; i++)
        cs_contexts_close(l.labels.at[i].contexts);
    naming_fini(&naming);
    cs_array_free(&l.labels);
    cs_dictionary_fini(&l.numbers);
    if (rc < 0)
        cs_calls_close(calls);
    return rc;
}

void cs_calls_close(struct cs_calls *calls)
{
    free(calls->functions);
    free(calls->by_start);
    free(calls->by_key);
    free(calls->by_node);
    cs_table_close(calls->keys);
    cs_table_close(calls->names);
    cs_contexts_close(calls->tree);
    *calls = (struct cs_calls){0};
}

const struct cs_call_function *cs_calls_function(const struct cs_calls *calls, uint32_t node)
{
    return &calls->functions[cs_contexts_at(calls->tree, node)->offset];
}

uint32_t cs_calls_node(const struct cs_calls *calls, uint64_t key)
{
    const struct cs_call_key wanted = {key, 0},
                             *found = cs_find(&wanted, calls->by_key, calls->n_keys, ascending);
    return found ? found->node : 0;
}

/* A runtime's function with its place: "total (shop/basket.py:17)", "JS:*addUp /srv/report.js:13:15". */
static bool before_place(const char *brief, const char *name, size_t n)
{
    bool script = strncmp(brief, "JS:", 3) == 0;
    const char *begins = script ? brief + 3 + strspn(brief + 3, "*~^+") : brief, *gap = script ? " " : " (";
    return strncmp(begins, name, n) == 0 && strncmp(begins + n, gap, strlen(gap)) == 0 &&
           strchr(begins + n, ':');
}

/* How well a name fits: 3 whole, 2 brief, 1 brief without its namespaces or place. */
static int fit(const struct cs_call_function *f, const char *name)
{
    size_t n = strlen(name), length = strlen(f->brief);
    if (!n)
        return 0;
    if (strcmp(f->name, name) == 0 || strcmp(f->linkage, name) == 0)
        return 3;
    if (strcmp(f->brief, name) == 0)
        return 2;
    return length > n + 2 &&
           ((strcmp(f->brief + length - n, name) == 0 && strncmp(f->brief + length - n - 2, "::", 2) == 0) ||
            before_place(f->brief, name, n));
}

uint32_t cs_calls_find(const struct cs_calls *calls, const char *name, unsigned *n_found)
{
    uint32_t best = 0;
    int best_fit = 0;
    unsigned n = 0;
    for (uint32_t i = 1; i < calls->n_functions; i++) {
        const struct cs_call_function *f = &calls->functions[i];
        int it = fit(f, name);
        if (it > best_fit)
            n = 0;
        if (it < best_fit || !it)
            continue;
        n++;
        if (it > best_fit || f->total > calls->functions[best].total)
            best = i;
        best_fit = it;
    }
    if (n_found)
        *n_found = n;
    return best;
}

const struct cs_call_function *cs_calls_of_procedure(const struct cs_calls *calls, const char *image_id,
                                                     uint64_t start)
{
    uint32_t low = cs_bisect(calls->n_functions, i, calls->functions[calls->by_start[i]].start < start);
    for (; low < calls->n_functions && calls->functions[calls->by_start[low]].start == start; low++) {
        const struct cs_call_function *f = &calls->functions[calls->by_start[low]];
        if (f->image && *f->linkage && strcmp(f->image->id, image_id) == 0)
            return f;
    }
    return NULL;
}
