/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One walk over the tree of contexts, parents first: each node takes from its parent what it doesn't say itself. */
#include "cli/profile/called/called.h"
#include "analysis/contexts/calls.h"
#include "cli/profile/called/called_place.h"
#include "cli/profile/called/chain_line.h"
#include "store/base/array.h"
#include "store/base/order.h"
#include "store/catalog.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_MAX 4096u
#define NONE CALLED_NONE

struct state {    /* of a node */
    uint32_t own; /* the innermost node with own code; 0: none */
    uint32_t callee;
    bool direct; /* the kernel was entered from own code */
    bool kernel, stated, through, glue;
    enum called_kind kind;
};

struct finding {
    struct called *c;
    const struct cs_chains *chains;
    const struct cs_contexts *tree;        /* the only one of them */
    const struct profile_row *through;     /* NULL: whatever */
    const struct cs_image_procedure *from; /* NULL: whatever; else only what it caused in the kernel */
    const char *from_image;
    double least;       /* samples that it must have caused */
    uint32_t *runtimes; /* by node: the name of a runtime's function, or NONE */
    CS_ARRAY(struct called_place) places;
};

static uint32_t place_at(void *arg, struct cs_image_code *code, uint64_t offset)
{
    struct finding *f = arg;
    struct called_place *kept = cs_array_add(&f->places);
    if (!kept)
        return 0;
    *kept = called_place_at(f->c, code, offset);
    return (uint32_t)f->places.n;
}

static void add_call(struct called *c, const struct called_call *call)
{
    uint32_t i = 0;
    while (i < c->n_calls && (c->calls[i].line != call->line || c->calls[i].caller != call->caller ||
                              c->calls[i].callee != call->callee || c->calls[i].kind != call->kind))
        i++;
    if (i == CALLS_MAX)
        return;
    if (i == c->n_calls) {
        c->calls[c->n_calls] = *call;
        c->n_calls++;
        return;
    }
    c->calls[i].samples += call->samples;
    c->calls[i].in_system_calls += call->in_system_calls;
    c->calls[i].in_faults += call->in_faults;
}

static bool in_image(const struct finding *f, uint32_t image, const char *id)
{
    return strcmp(cs_contexts_image_id(f->tree, image), id) == 0;
}

static void take_samples(struct finding *f, const uint32_t *of_node, const struct state *states,
                         uint32_t node)
{
    const struct state *s = &states[node];
    const uint64_t n = cs_contexts_at(f->tree, node)->self;
    struct called_place *own = &f->places.at[of_node[s->own] - 1];
    const struct cs_context *at = cs_contexts_at(f->tree, s->own);
    if (s->own == node) {
        own->image = at->image;
        own->samples += n;
        return;
    }
    if (f->from && (!s->kernel || own->start != f->from->start || !in_image(f, at->image, f->from_image)))
        return;
    if (f->from && own->line == NONE) {
        own->line = called_function_line(f->c, f->from->name);
        own->callee = NONE; /* it was the function's own name */
    }
    if (own->line == NONE || (s->kernel && (!s->stated || s->kind == CALLED_INTERRUPT)))
        return;
    struct called_call call = {.line = own->line, .caller = own->outer, .samples = n};
    const uint32_t outside = states[at->parent].own;
    if (call.caller == NONE && outside)
        call.caller = f->places.at[of_node[outside] - 1].line;
    call.kind = s->direct ? s->kind : CALLED_LIBRARY;
    call.callee = s->direct ? NONE : own->callee != NONE ? own->callee : s->callee;
    call.in_system_calls = s->kernel && s->kind == CALLED_SYSTEM_CALL ? n : 0;
    call.in_faults = s->kernel && s->kind == CALLED_PAGE_FAULT ? n : 0;
    add_call(f->c, &call);
    if (f->runtimes)
        called_take_below(f->c, f->tree, f->runtimes, s->own, node, own->line);
}

static void walk(struct finding *f, const uint32_t *of_node, const bool *is_kernel, struct state *states)
{
    for (uint32_t i = 1; i < cs_contexts_count(f->tree); i++) {
        const struct cs_context *c = cs_contexts_at(f->tree, i);
        const struct called_place *p = of_node[i] ? &f->places.at[of_node[i] - 1] : NULL;
        struct state s = states[c->parent];
        if (p && (p->line != NONE || (f->from && in_image(f, c->image, f->from_image)))) {
            s = (struct state){.own = i, .callee = NONE};
        } else {
            s.direct = s.direct || (is_kernel[c->image] && s.own == c->parent);
            s.kernel = s.kernel || is_kernel[c->image];
            if (p && p->callee != NONE && (s.callee == NONE || s.glue)) {
                s.callee = p->callee;
                s.glue = p->glue;
            }
            if (s.kernel && !s.stated && p && p->stated) {
                s.stated = true;
                s.kind = p->kind;
            }
        }
        s.through = s.through || (p && f->through && p->start == f->through->start &&
                                  in_image(f, c->image, f->through->image->image.id));
        states[i] = s;
        if (c->self && s.own && (!f->through || s.through))
            take_samples(f, of_node, states, i);
    }
}

CS_ORDER(by_samples, struct called_call, cs_order(b->samples, a->samples), cs_order(a->line, b->line))

CS_ORDER(by_procedure, struct called_place, cs_order(a->image, b->image), cs_order(a->start, b->start))

/* Of the own procedure that has most. The places change their order. */
static double most_own(struct finding *f)
{
    uint64_t most = 0, samples = 0;
    cs_sort(f->places.at, f->places.n, by_procedure);
    for (size_t i = 0; i < f->places.n; i++) {
        const struct called_place *p = &f->places.at[i];
        samples = (i && by_procedure(p, p - 1) == 0 ? samples : 0) + p->samples;
        most = samples > most ? samples : most;
    }
    return (double)most;
}

static void finish(struct finding *f, const struct cs_catalog *catalog, const uint32_t *of_node)
{
    struct called *c = f->c;
    cs_sort(c->calls, c->n_calls, by_samples);
    for (uint32_t i = 1; c->n_calls && i < cs_contexts_count(f->tree); i++)
        if (of_node[i] && f->places.at[of_node[i] - 1].line == c->calls[0].line) {
            const struct cs_store_image *image =
                cs_catalog_image(catalog, cs_contexts_image_id(f->tree, cs_contexts_at(f->tree, i)->image));
            snprintf(c->path, sizeof c->path, "%s", image ? image->path : "");
            break;
        }
    c->own = most_own(f);
}

static bool is_in(const struct cs_image_procedure *p, uint64_t offset)
{
    unsigned k = 0;
    while (k < p->n_parts && offset - p->parts[k].start >= p->parts[k].size)
        k++;
    return k < p->n_parts;
}

/* Nodes between the function's frames and samples in the kernel. NULL: too few samples for a word about them, so that no image
 * is opened. */
static bool *ways_to_kernel(const struct finding *f, const bool *is_kernel)
{
    const uint32_t n = cs_contexts_count(f->tree);
    bool *below = calloc(n, sizeof *below), *ways = calloc(n, sizeof *ways);
    double samples = 0;
    for (uint32_t i = 1; below && ways && i < n; i++) {
        const struct cs_context *c = cs_contexts_at(f->tree, i);
        below[i] = below[c->parent] || (is_in(f->from, c->offset) && in_image(f, c->image, f->from_image));
        ways[i] = below[i] && c->self && is_kernel[c->image];
        samples += ways[i] ? (double)c->self : 0;
    }
    for (uint32_t i = n; below && ways && i-- > 1;) {
        const uint32_t parent = cs_contexts_at(f->tree, i)->parent;
        ways[parent] |= ways[i] && below[parent];
    }
    free(below);
    if (samples >= f->least)
        return ways;
    free(ways);
    return NULL;
}

static void read_tree(struct finding *f, const struct profile *profile, const struct cs_catalog *catalog)
{
    const struct cs_contexts *tree = f->tree;
    const uint32_t n = cs_contexts_count(tree), images = cs_contexts_images(tree);
    const bool precise = profile->events[profile->main_event].precise;
    uint32_t *of_node = calloc(n + 1, sizeof *of_node), *of_place = NULL;
    struct state *states = calloc(n + 1, sizeof *states);
    bool *is_kernel = calloc(images + 1, sizeof *is_kernel);
    for (uint32_t i = 0; is_kernel && i < images; i++) {
        const char *id = cs_contexts_image_id(tree, i);
        const struct cs_store_image *image = *id ? cs_catalog_image(catalog, id) : NULL;
        is_kernel[i] = image && (image->kind == CS_IMAGE_KERNEL || image->kind == CS_IMAGE_MODULE);
    }
    bool *ways = is_kernel && f->from ? ways_to_kernel(f, is_kernel) : NULL;
    if (is_kernel && (ways || !f->from))
        of_place = chain_line_places(catalog, profile->store, f->chains, ways, precise, true, place_at, f);
    if (of_node && of_place && states && is_kernel) {
        f->runtimes = calloc(n + 1, sizeof *f->runtimes);
        for (uint32_t i = 1; i < n; i++) {
            of_node[i] = of_place[chain_line_place(&f->chains->trees[0], i, precise)];
            const struct called_place *p = of_node[i] ? &f->places.at[of_node[i] - 1] : NULL;
            if (f->runtimes)
                f->runtimes[i] = p && p->runtime ? p->callee : NONE;
        }
        states[0].callee = NONE;
        walk(f, of_node, is_kernel, states);
        finish(f, catalog, of_node);
    }
    free(f->runtimes);
    free(of_node);
    free(of_place);
    free(states);
    free(is_kernel);
    free(ways);
}

static bool find(struct called *c, const struct profile *profile, struct finding f)
{
    const struct cs_calls_wanted wanted = {.event = profile->events[profile->main_event].name};
    const struct cs_catalog *catalog;
    struct cs_chains chains;
    struct cs_error ignored = {0};
    *c = (struct called){.kernel_only = f.from};
    if (profile->one_image || cs_store_catalog(profile->store, &catalog, &ignored) < 0 ||
        cs_chains_open(&chains, profile->store, &wanted, &ignored) < 0)
        return false;
    c->lines = calloc(CALLED_LINES_MAX, sizeof *c->lines);
    c->calls = calloc(CALLS_MAX, sizeof *c->calls);
    c->names = calloc(CALLED_NAMES_MAX, sizeof *c->names);
    c->below = calloc(CALLED_BELOW_MAX, sizeof *c->below);
    f.c = c;
    f.chains = &chains;
    f.tree = chains.trees[0].contexts;
    if (c->lines && c->calls && c->names && c->below) {
        c->total = (double)cs_contexts_at(f.tree, CS_CONTEXTS_ROOT)->total;
        read_tree(&f, profile, catalog);
    }
    cs_array_free(&f.places);
    cs_chains_close(&chains);
    return c->n_calls > 0 && c->total > 0;
}

bool called_find(struct called *c, const struct profile *profile, const struct profile_row *through)
{
    return find(c, profile, (struct finding){.through = through});
}

bool called_kernel(struct called *c, const struct profile *profile, const char *image_id,
                   const struct cs_image_procedure *function, double least)
{
    return find(c, profile, (struct finding){.from = function, .from_image = image_id, .least = least});
}

void called_close(struct called *c)
{
    for (uint32_t i = 0; i < c->n_lines; i++)
        free(c->lines[i].file);
    free(c->lines);
    free(c->calls);
    free(c->names);
    free(c->below);
}

bool called_same_function(const struct called *c, uint32_t a, uint32_t b)
{
    assert(c->kernel_only || (a < c->n_lines && b < c->n_lines));
    return c->kernel_only || (strcmp(c->lines[a].function, c->lines[b].function) == 0 &&
                              strcmp(c->lines[a].file, c->lines[b].file) == 0);
}

double called_from_function(const struct called *c, uint32_t line)
{
    double samples = 0;
    for (uint32_t i = 0; i < c->n_calls; i++)
        samples += called_same_function(c, c->calls[i].line, line) ? (double)c->calls[i].samples : 0;
    return samples;
}

double called_from_line(const struct called *c, uint32_t line)
{
    double samples = 0;
    for (uint32_t i = 0; i < c->n_calls; i++)
        samples += c->calls[i].line == line ? (double)c->calls[i].samples : 0;
    return samples;
}
