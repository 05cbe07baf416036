/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every context is put below its caller's innermost function. */
#include "analysis/contexts/calls.h"
#include "analysis/contexts/functions.h"
#include "store/base/bisect.h"

#include "store/base/array.h"
#include "store/base/order.h"
#include "store/catalog.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The contexts of one label as functions, below `top`. */
static int add_functions(struct cs_calls *calls, const struct cs_call_frames *frames_of,
                         const struct cs_chain_tree *chains, uint32_t top, bool keys)
{
    const struct cs_contexts *contexts = chains->contexts;
    uint32_t n = cs_contexts_count(contexts);
    uint32_t *node = calloc(n, sizeof *node);
    int rc = node ? 0 : -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        const struct cs_context *c = cs_contexts_at(contexts, i);
        int64_t at = i ? node[c->parent] : top;
        const struct cs_call_frames *frames = &frames_of[chains->place[i]]; /* none of the root's */
        for (unsigned k = 0; at >= 0 && k < frames->n; k++) {
            uint32_t f = frames->functions[k];
            /* Frames of an image without names, one below the other, would be a wall: they are one. */
            if (calls->functions[f].known || !at || cs_contexts_at(calls->tree, (uint32_t)at)->offset != f)
                at = cs_contexts_child(calls->tree, (uint32_t)at, k ? CS_CALL_INLINED : 0, f);
        }
        if (at < 0)
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
    struct cs_call_frames *frames = NULL;
    uint32_t *pool = NULL;
    *calls = (struct cs_calls){.tree = cs_contexts_open(),
                               .keys = cs_table_open(&cs_schema_stacks),
                               .names = cs_table_open(&cs_schema_stacks)};
    int rc = 0;
    if (!calls->tree || !calls->keys || !calls->names || cs_contexts_image(calls->tree, "inlined") < 0 ||
        cs_call_function_number(calls, NULL, "", 0, 0) < 0)
        rc = cs_fail(err, ENOMEM, "out of memory for call contexts");
    rc = rc < 0 ? rc : cs_store_catalog(store, &calls->catalog, err);
    rc = rc < 0 ? rc : cs_chains_open(&calls->chains, store, wanted, err);
    if (rc == 0 && !(frames = calloc(cs_contexts_count(calls->chains.places), sizeof *frames)))
        rc = cs_fail(err, ENOMEM, "out of memory for call contexts");
    rc = rc < 0 ? rc
                : cs_call_frames_of(calls, store, calls->chains.places, wanted->inlines, frames, &pool, err);
    for (size_t i = 0; rc == 0 && i < calls->chains.n; i++) {
        const struct cs_chain_tree *tree = &calls->chains.trees[i];
        int64_t top = CS_CONTEXTS_ROOT;
        if (wanted->by_label) {
            int64_t f =
                cs_call_function_number(calls, NULL, *tree->label ? tree->label : CS_CALLS_UNLABELLED, 0, 0);
            top = f < 0 ? f : cs_contexts_child(calls->tree, CS_CONTEXTS_ROOT, 0, (uint64_t)f);
        }
        if (top < 0 || add_functions(calls, frames, tree, (uint32_t)top, wanted->keys) < 0)
            rc = cs_fail(err, ENOMEM, "out of memory for call contexts");
    }
    cs_sort(calls->by_key, calls->n_keys, ascending);
    rc = rc < 0 ? rc : count_functions(calls, err);
    rc = rc < 0 ? rc : cs_calls_sort(calls, err);
    free(frames);
    free(pool);
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
    cs_chains_close(&calls->chains);
    *calls = (struct cs_calls){0};
}

const struct cs_call_function *cs_calls_function(const struct cs_calls *calls, uint32_t node)
{
    assert(node > 0 /* the root is no function */);
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
