/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Both ends of every edge are put into a flat tree of contexts, whose frames are then named as those of chains are. */
#include "analysis/contexts/call_counts.h"
#include "analysis/contexts/functions.h"
#include "image/shared_code.h"
#include "store/base/array.h"
#include "store/base/bisect.h"
#include "store/base/order.h"
#include "store/catalog.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct end { /* of an edge */
    uint32_t procedure, innermost;
    uint64_t start; /* of the procedure */
    bool stub;      /* of the PLT */
};

struct pair {
    uint32_t from, to;
    double calls, seen, replicate[CS_EDGE_FLOW_REPLICATES];
};

struct counting {
    struct cs_calls *calls;
    struct cs_store *store;
    const struct cs_edge_flow *flow;
    struct end *from, *to;
    CS_ARRAY(struct pair) pairs;
    struct cs_error *err;
};

static bool is_stub(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && strcmp(name + n - 4, "@plt") == 0;
}

static struct end end_of(const struct counting *c, const struct cs_call_frames *frames)
{
    const struct cs_call_function *p = &c->calls->functions[frames->functions[0]];
    return (struct end){frames->functions[0], frames->functions[frames->n - 1], p->start,
                        is_stub(p->linkage)};
}

static int name_ends(struct counting *c, bool inlines)
{
    const struct cs_edge_flow *f = c->flow;
    struct cs_contexts *flat = cs_contexts_open();
    uint32_t *from = calloc(f->n + 1, sizeof *from), *to = calloc(f->n + 1, sizeof *to), *pool = NULL;
    struct cs_call_frames *frames = NULL;
    int rc = flat && from && to ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < f->n; i++) {
        const struct cs_counted_edge *e = &f->list[i];
        int64_t a = cs_contexts_image(flat, f->images[e->image]),
                b = cs_contexts_image(flat, f->images[e->to_image]);
        int64_t x = a < 0 ? a : cs_contexts_child(flat, CS_CONTEXTS_ROOT, (uint32_t)a, e->from);
        int64_t y = b < 0 ? b : cs_contexts_child(flat, CS_CONTEXTS_ROOT, (uint32_t)b, e->to);
        rc = x < 0 || y < 0 ? -ENOMEM : 0;
        from[i] = rc ? 0 : (uint32_t)x;
        to[i] = rc ? 0 : (uint32_t)y;
    }
    frames = rc == 0 ? calloc(cs_contexts_count(flat), sizeof *frames) : NULL;
    if (!frames)
        rc = cs_fail(c->err, ENOMEM, "out of memory for %zu edges", f->n);
    rc = rc < 0 ? rc : cs_call_frames_of(c->calls, c->store, flat, inlines, frames, &pool, c->err);
    for (size_t i = 0; rc == 0 && i < f->n; i++) {
        c->from[i] = end_of(c, &frames[from[i]]);
        c->to[i] = end_of(c, &frames[to[i]]);
    }
    free(frames);
    free(pool);
    free(from);
    free(to);
    cs_contexts_close(flat);
    return rc;
}

/* Edges to its own entry: a call instruction recurses, another one loops. */
static bool calls_itself(struct cs_image_code *code, uint64_t from)
{
    struct cs_isa_insn insn;
    size_t n = 0;
    const uint8_t *bytes = code ? cs_image_bytes_at(code, from, &n, NULL) : NULL;
    return bytes && cs_isa_decode_flow(cs_image_isa(code), bytes, n, from, &insn) &&
           insn.flow == CS_ISA_FLOW_CALL;
}

static int add_pair(struct counting *c, uint32_t from, uint32_t to, const struct cs_counted_edge *e,
                    double part)
{
    struct pair *p = cs_array_add(&c->pairs);
    if (!p)
        return cs_fail(c->err, ENOMEM, "out of memory for %zu calls", c->pairs.n);
    *p = (struct pair){.from = from, .to = to, .calls = e->flow * part, .seen = e->count * part};
    for (unsigned r = 0; r < CS_EDGE_FLOW_REPLICATES; r++)
        p->replicate[r] = (double)e->replicate[r] * part;
    return 0;
}

/* A call of a stub is one of what the stub jumps to, in the proportions in which it does. */
static int add_through_stub(struct counting *c, size_t call, uint32_t from)
{
    const struct cs_edge_flow *f = c->flow;
    const struct end *stub = &c->to[call];
    uint32_t image = f->list[call].to_image;
    double all = 0;
    /* edges from the stub: the list ascends by image and from */
    size_t low = cs_bisect(
        f->n, i, f->list[i].image < image || (f->list[i].image == image && f->list[i].from < stub->start));
    size_t end = low;
    for (; end < f->n && f->list[end].image == image && c->from[end].procedure == stub->procedure; end++)
        all += c->to[end].procedure == stub->procedure ? 0 : f->list[end].flow;
    for (size_t i = low; all > 0 && i < end; i++) {
        int rc = c->to[i].procedure == stub->procedure
                     ? 0
                     : add_pair(c, from, c->to[i].procedure, &f->list[call], f->list[i].flow / all);
        if (rc < 0)
            return rc;
    }
    return all > 0 ? 0 : add_pair(c, from, stub->procedure, &f->list[call], 1);
}

static int find_calls(struct counting *c)
{
    struct cs_image_code *code = NULL;
    uint32_t open = UINT32_MAX;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < c->flow->n; i++) {
        const struct cs_counted_edge *e = &c->flow->list[i];
        const struct end *from = &c->from[i], *to = &c->to[i];
        if (!to->start || e->to != to->start || from->stub || !(e->flow > 0))
            continue;
        if (from->procedure == to->procedure) {
            const struct cs_store_image *image =
                cs_catalog_image(c->calls->catalog, c->flow->images[e->image]);
            if (open != e->image) {
                cs_image_close(code);
                code = NULL;
                open = e->image;
                rc = image ? cs_image_open_shared(image, c->store, &code, c->err) : 0;
            }
            if (rc < 0 || !calls_itself(code, e->from))
                continue;
        }
        rc = to->stub ? add_through_stub(c, i, from->innermost)
                      : add_pair(c, from->innermost, to->procedure, e, 1);
    }
    cs_image_close(code);
    return rc;
}

CS_ORDER(by_ends, struct pair, cs_order(a->from, b->from), cs_order(a->to, b->to))

static double error_of(const struct pair *p)
{
    double sum = 0, squares = 0;
    for (unsigned r = 0; r < CS_EDGE_FLOW_REPLICATES; r++) {
        if (!(p->replicate[r] > 0))
            return (double)NAN;
        double ln = log(p->replicate[r]);
        sum += ln;
        squares += ln * ln;
    }
    double mean = sum / CS_EDGE_FLOW_REPLICATES, variance = squares / CS_EDGE_FLOW_REPLICATES - mean * mean;
    return sqrt(fmax(variance, 0) * CS_EDGE_FLOW_REPLICATES / (CS_EDGE_FLOW_REPLICATES - 1));
}

/* Sorted, equal pairs added up. */
static int finish(struct counting *c, struct cs_call_counts *counts)
{
    cs_sort(c->pairs.at, c->pairs.n, by_ends);
    counts->list = calloc(c->pairs.n + 1, sizeof *counts->list);
    if (!counts->list)
        return cs_fail(c->err, ENOMEM, "out of memory for %zu calls", c->pairs.n);
    for (size_t i = 0; i < c->pairs.n;) {
        struct pair sum = c->pairs.at[i];
        size_t k = i + 1;
        for (; k < c->pairs.n && by_ends(&sum, &c->pairs.at[k]) == 0; k++) {
            sum.calls += c->pairs.at[k].calls;
            sum.seen += c->pairs.at[k].seen;
            for (unsigned r = 0; r < CS_EDGE_FLOW_REPLICATES; r++)
                sum.replicate[r] += c->pairs.at[k].replicate[r];
        }
        counts->list[counts->n++] =
            (struct cs_call_count){sum.from, sum.to, sum.calls, error_of(&sum), sum.seen};
        i = k;
    }
    return 0;
}

int cs_call_counts_open(struct cs_call_counts *counts, struct cs_calls *calls, struct cs_store *store,
                        const struct cs_edge_flow *flow, bool inlines, struct cs_error *err)
{
    struct counting c = {.calls = calls,
                         .store = store,
                         .flow = flow,
                         .from = calloc(flow->n + 1, sizeof *c.from),
                         .to = calloc(flow->n + 1, sizeof *c.to),
                         .err = err};
    *counts = (struct cs_call_counts){.executions = flow->executions_a_flow_ns * flow->user_ns,
                                      .bursts = flow->n_bursts};
    int rc = c.from && c.to ? name_ends(&c, inlines)
                            : cs_fail(err, ENOMEM, "out of memory for %zu edges", flow->n);
    rc = rc < 0 ? rc : find_calls(&c);
    rc = rc < 0 ? rc : finish(&c, counts);
    rc = rc < 0 ? rc : cs_calls_sort(calls, err);
    free(c.from);
    free(c.to);
    cs_array_free(&c.pairs);
    if (rc < 0)
        cs_call_counts_close(counts);
    return rc;
}

void cs_call_counts_close(struct cs_call_counts *counts)
{
    free(counts->list);
    *counts = (struct cs_call_counts){0};
}

const struct cs_call_count *cs_call_count_of(const struct cs_call_counts *counts, uint32_t from, uint32_t to)
{
    size_t low =
        cs_bisect(counts->n, i,
                  counts->list[i].from < from || (counts->list[i].from == from && counts->list[i].to < to));
    const struct cs_call_count *found = &counts->list[low];
    return low < counts->n && found->from == from && found->to == to ? found : NULL;
}

struct cs_call_count cs_call_count_to(const struct cs_call_counts *counts, uint32_t to)
{
    struct cs_call_count sum = {.to = to};
    double error = 0;
    for (size_t i = 0; i < counts->n; i++)
        if (counts->list[i].to == to) {
            sum.calls += counts->list[i].calls;
            sum.seen += counts->list[i].seen;
            error += counts->list[i].calls * counts->list[i].error;
        }
    sum.error = sum.calls > 0 ? error / sum.calls : (double)NAN;
    return sum;
}
