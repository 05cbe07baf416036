/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Invariant: rows name a state at most once, and none that is gone; lists of ways in may. Control flow is
 * nearly a tree of loops. Of 128,420 branches of cc1plus all but some 400 went with six neighbours or
 * fewer, the rest is dense. */
#include "analysis/frequency/elimination_order.h"
#include "store/base/array.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define ENTRIES_MAX (1u << 25)   /* 0.8 GB with their values */
#define STEPS_MAX 20000000000ull /* half a minute */
#define EXACT 1024               /* costs below have a bucket each, others share one by their size */
#define BUCKETS (EXACT + 64 * 8)

struct set {
    uint32_t *at, n, capacity;
};

struct ordering {
    struct elimination_order *order;
    uint32_t n;
    struct set *out, *in; /* by state */
    uint32_t *mark;       /* by state: the last stamp that it got */
    uint32_t stamp;
    bool *gone;
    uint32_t *next, *head;          /* lists of states by cost; 0: end */
    CS_ARRAY(uint32_t) later, into; /* by place, states */
    size_t *into_start;
    uint64_t steps;
};

static int add(struct set *set, uint32_t state)
{
    if (cs_array_room(set->at, set->n, set->capacity) < 0)
        return -ENOMEM;
    set->at[set->n++] = state;
    return 0;
}

/* Leaves each state once, and none that is gone; they stay marked with the current stamp. */
static void clean(struct ordering *o, struct set *set)
{
    uint32_t kept = 0;
    o->stamp++;
    for (uint32_t i = 0; i < set->n; i++) {
        uint32_t one = set->at[i];
        if (o->gone[one] || o->mark[one] == o->stamp)
            continue;
        o->mark[one] = o->stamp;
        set->at[kept++] = one;
    }
    set->n = kept;
}

/* Bucket of the transitions that its elimination may bring. */
static uint32_t cost(struct ordering *o, uint32_t state)
{
    clean(o, &o->out[state]);
    clean(o, &o->in[state]);
    double fill = (double)o->out[state].n * o->in[state].n;
    return fill < EXACT ? (uint32_t)fill : EXACT + (uint32_t)(8 * (log2(fill) - log2(EXACT)));
}

static void put(struct ordering *o, uint32_t state, uint32_t bucket)
{
    o->next[state] = o->head[bucket];
    o->head[bucket] = state;
}

static int note(struct ordering *o, uint32_t k)
{
    struct set *out = &o->out[k], *in = &o->in[k];
    uint32_t place = o->order->n++;
    o->order->place[k] = place;
    o->order->state[place] = k;
    if (o->later.n + o->into.n + out->n + in->n > ENTRIES_MAX)
        return -E2BIG;
    if (cs_array_reserve(&o->later, o->later.n + out->n) < 0 ||
        cs_array_reserve(&o->into, o->into.n + in->n) < 0)
        return -ENOMEM;
    for (uint32_t c = 0; c < out->n; c++)
        o->later.at[o->later.n++] = out->at[c];
    for (uint32_t a = 0; a < in->n; a++)
        o->into.at[o->into.n++] = in->at[a];
    o->order->later_start[place + 1] = o->later.n;
    o->into_start[place + 1] = o->into.n;
    return 0;
}

/* Who came to k goes on to where it went. */
static int bypass(struct ordering *o, uint32_t k)
{
    struct set *out = &o->out[k], *in = &o->in[k];
    o->gone[k] = true;
    for (uint32_t a = 0; a < in->n; a++) {
        uint32_t i = in->at[a];
        clean(o, &o->out[i]);
        o->mark[i] = o->stamp; /* no loops */
        o->steps += o->out[i].n + out->n;
        for (uint32_t c = 0; c < out->n; c++) {
            uint32_t j = out->at[c];
            if (o->mark[j] != o->stamp && (add(&o->out[i], j) < 0 || add(&o->in[j], i) < 0))
                return -ENOMEM;
        }
    }
    free(out->at);
    free(in->at);
    *out = *in = (struct set){0};
    return o->steps > STEPS_MAX ? -E2BIG : 0;
}

/* Lazy buckets: a state's cost is looked at again when it comes up. */
static int eliminate_all(struct ordering *o)
{
    int rc = 0;
    for (uint32_t i = 1; i < o->n; i++)
        put(o, i, cost(o, i));
    for (uint32_t b = 0; rc == 0 && b < BUCKETS;) {
        uint32_t k = o->head[b];
        if (!k) {
            b++;
            continue;
        }
        o->head[b] = o->next[k];
        uint32_t now = cost(o, k);
        if (now > b) {
            put(o, k, now);
            continue;
        }
        rc = note(o, k);
        if (rc == 0)
            rc = bypass(o, k);
        b = now;
    }
    return rc;
}

/* From states to places, and from ways in by place to ways out by place. */
static int finish(struct ordering *o)
{
    struct elimination_order *order = o->order;
    for (size_t i = 0; i < o->later.n; i++)
        o->later.at[i] = order->place[o->later.at[i]];
    order->later = o->later.at;
    o->later.at = NULL;
    order->earlier = malloc((o->into.n + 1) * sizeof *order->earlier);
    if (!order->earlier)
        return -ENOMEM;
    size_t *start = order->earlier_start;
    for (size_t i = 0; i < o->into.n; i++)
        start[order->place[o->into.at[i]] + 1]++;
    for (uint32_t p = 0; p < order->n; p++)
        start[p + 1] += start[p];
    for (uint32_t k = 0; k < order->n; k++) /* start[p] runs to where p's end */
        for (size_t i = o->into_start[k]; i < o->into_start[k + 1]; i++)
            order->earlier[start[order->place[o->into.at[i]]]++] = k;
    for (uint32_t p = order->n; p > 0; p--)
        start[p] = start[p - 1];
    start[0] = 0;
    return 0;
}

static void ordering_fini(struct ordering *o)
{
    for (uint32_t i = 0; i < o->n; i++) {
        if (o->out)
            free(o->out[i].at);
        if (o->in)
            free(o->in[i].at);
    }
    free(o->out);
    free(o->in);
    free(o->mark);
    free(o->gone);
    free(o->next);
    free(o->head);
    free(o->into_start);
    cs_array_free(&o->later);
    cs_array_free(&o->into);
}

int elimination_order_init(struct elimination_order *order, uint32_t n_states, const uint32_t *from,
                           const uint32_t *to, size_t n_transitions)
{
    size_t n = (size_t)n_states + 1;
    struct ordering o = {.order = order,
                         .n = n_states,
                         .out = calloc(n, sizeof *o.out),
                         .in = calloc(n, sizeof *o.in),
                         .mark = calloc(n, sizeof *o.mark),
                         .gone = calloc(n, sizeof *o.gone),
                         .next = calloc(n, sizeof *o.next),
                         .head = calloc(BUCKETS, sizeof *o.head),
                         .into_start = calloc(n, sizeof *o.into_start)};
    *order = (struct elimination_order){.place = calloc(n, sizeof *order->place),
                                        .state = calloc(n, sizeof *order->state),
                                        .later_start = calloc(n, sizeof *order->later_start),
                                        .earlier_start = calloc(n, sizeof *order->earlier_start)};
    int rc = o.out && o.in && o.mark && o.gone && o.next && o.head && o.into_start && order->place &&
                     order->state && order->later_start && order->earlier_start
                 ? 0
                 : -ENOMEM;
    for (size_t t = 0; rc == 0 && t < n_transitions; t++) {
        uint32_t i = from[t], j = to[t];
        if (i && j && i != j)
            rc = add(&o.out[i], j) < 0 || add(&o.in[j], i) < 0 ? -ENOMEM : 0;
    }
    if (rc == 0)
        rc = eliminate_all(&o);
    if (rc == 0)
        rc = finish(&o);
    ordering_fini(&o);
    for (uint32_t p = 0; rc == 0 && p < order->n; p++)
        assert(order->place[order->state[p]] == p);
    return rc;
}

void elimination_order_fini(struct elimination_order *order)
{
    free(order->place);
    free(order->state);
    free(order->later_start);
    free(order->later);
    free(order->earlier_start);
    free(order->earlier);
}
