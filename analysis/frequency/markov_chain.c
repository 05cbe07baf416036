/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Invariant: after each elimination the rows of the states that are left are the chain watched only while it
 * is in one of them. Row by row, each takes from those eliminated before (elimination_order.h) what went
 * through them, and is then as it is when its turn comes. On the way back a state's visits are what came to it
 * from those eliminated later, over its probability of leaving. Cost: sum over states of (ways in × ways out)
 * at their elimination. */
#include "analysis/frequency/markov_chain.h"
#include "analysis/frequency/elimination_order.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DEAD_END 1e-12 /* what leaves a state that leads nowhere */

struct cs_markov {
    uint32_t n, n_transitions;
    uint32_t *from, *to;
    struct elimination_order order;
    uint32_t *row_start, *row; /* transitions by the place of their source */
    /* Of one solve: */
    cs_lanes *sum;                      /* by state: its weights */
    cs_lanes *later, *earlier;          /* probabilities, beside the order's lists */
    cs_lanes *leaving, *outside, *came; /* by place: probability of leaving at its turn; to the outside;
                                           visits from those eliminated before and from outside */
    cs_lanes *width;                    /* by place, the row at work */
    bool twin;                          /* what is above the solve's is another's */
};

/* Transitions by the place of their source; those from outside are left out. */
static int sort_rows(struct cs_markov *chain)
{
    uint32_t n = chain->order.n, *start = calloc((size_t)n + 2, sizeof *start);
    chain->row_start = start;
    chain->row = malloc(((size_t)chain->n_transitions + 1) * sizeof *chain->row);
    if (!start || !chain->row)
        return -ENOMEM;
    for (uint32_t t = 0; t < chain->n_transitions; t++)
        if (chain->from[t])
            start[chain->order.place[chain->from[t]] + 2]++;
    for (uint32_t p = 0; p < n; p++)
        start[p + 1] += start[p];
    for (uint32_t t = 0; t < chain->n_transitions; t++)
        if (chain->from[t])
            chain->row[start[chain->order.place[chain->from[t]] + 1]++] = t;
    return 0;
}

/* What a solve needs; what there is is freed by close. */
static bool solve_init(struct cs_markov *chain)
{
    size_t states = (size_t)chain->n + 1;
    chain->sum = calloc(states, sizeof *chain->sum);
    chain->leaving = calloc(states, sizeof *chain->leaving);
    chain->outside = calloc(states, sizeof *chain->outside);
    chain->came = calloc(states, sizeof *chain->came);
    chain->width = calloc(states, sizeof *chain->width);
    chain->later = malloc((chain->order.later_start[chain->order.n] + 1) * sizeof *chain->later);
    chain->earlier = malloc((chain->order.earlier_start[chain->order.n] + 1) * sizeof *chain->earlier);
    return chain->sum && chain->leaving && chain->outside && chain->came && chain->width && chain->later &&
           chain->earlier;
}

struct cs_markov *cs_markov_open(uint32_t n, const uint32_t *from, const uint32_t *to, uint32_t n_transitions)
{
    for (uint32_t i = 0; i < n_transitions; i++)
        assert(from[i] < n && to[i] < n);
    assert(n > 0);
    struct cs_markov *chain = calloc(1, sizeof *chain);
    if (!chain)
        return NULL;
    size_t bytes = ((size_t)n_transitions + 1) * sizeof *from;
    chain->n = n;
    chain->n_transitions = n_transitions;
    chain->from = malloc(bytes);
    chain->to = malloc(bytes);
    if (!chain->from || !chain->to)
        goto fail;
    memcpy(chain->from, from, n_transitions * sizeof *from);
    memcpy(chain->to, to, n_transitions * sizeof *to);
    if (elimination_order_init(&chain->order, n, from, to, n_transitions) < 0 || sort_rows(chain) < 0 ||
        !solve_init(chain))
        goto fail;
    return chain;
fail:
    cs_markov_close(chain);
    return NULL;
}

struct cs_markov *cs_markov_twin(const struct cs_markov *chain)
{
    struct cs_markov *twin = malloc(sizeof *twin);
    if (!twin)
        return NULL;
    *twin = *chain;
    twin->twin = true;
    if (solve_init(twin))
        return twin;
    cs_markov_close(twin);
    return NULL;
}

void cs_markov_close(struct cs_markov *chain)
{
    if (!chain)
        return;
    if (!chain->twin) {
        elimination_order_fini(&chain->order);
        free(chain->from);
        free(chain->to);
        free(chain->row_start);
        free(chain->row);
    }
    free(chain->sum);
    free(chain->later);
    free(chain->earlier);
    free(chain->leaving);
    free(chain->outside);
    free(chain->came);
    free(chain->width);
    free(chain);
}

/* Puts the row at place p into `width`: what goes on to each place that is left, through the others. */
static void pass_through(struct cs_markov *chain, uint32_t p)
{
    const struct elimination_order *o = &chain->order;
    cs_lanes *width = chain->width;
    for (size_t e = o->earlier_start[p]; e < o->earlier_start[p + 1]; e++) {
        uint32_t k = o->earlier[e];
        cs_lanes through = width[k];
        width[k] = (cs_lanes){0};
        chain->earlier[e] = through;
        through /= chain->leaving[k];
        chain->outside[p] += through * chain->outside[k];
        for (size_t c = o->later_start[k]; c < o->later_start[k + 1]; c++)
            width[o->later[c]] += through * chain->later[c];
    }
}

static void eliminate(struct cs_markov *chain, const cs_lanes *weight, uint32_t p)
{
    const struct elimination_order *o = &chain->order;
    cs_lanes sum = chain->sum[o->state[p]];
    for (uint32_t r = chain->row_start[p]; r < chain->row_start[p + 1]; r++) {
        uint32_t t = chain->row[r];
        cs_lanes part = weight[t] / sum;
        cs_lanes_where_positive(&part, &weight[t]);
        if (!chain->to[t])
            chain->outside[p] += part;
        else
            chain->width[o->place[chain->to[t]]] += part;
    }
    /* A loop to oneself changes no ratio: it is added at the end. */
    chain->width[p] = (cs_lanes){0};
    pass_through(chain, p);
    chain->width[p] = (cs_lanes){0};
    cs_lanes leaving = chain->outside[p];
    for (size_t c = o->later_start[p]; c < o->later_start[p + 1]; c++) {
        uint32_t j = o->later[c];
        chain->later[c] = chain->width[j];
        leaving += chain->width[j];
        chain->width[j] = (cs_lanes){0};
    }
    for (unsigned lane = 0; lane < CS_MARKOV_LANES; lane++)
        if (!(leaving[lane] > 0))
            leaving[lane] = chain->outside[p][lane] = DEAD_END;
    chain->leaving[p] = leaving;
    cs_lanes went = chain->came[p] / leaving;
    for (size_t c = o->later_start[p]; c < o->later_start[p + 1]; c++)
        chain->came[o->later[c]] += went * chain->later[c];
}

int cs_markov_solve_lanes(struct cs_markov *chain, const cs_lanes *weight, cs_lanes *visits)
{
    const struct elimination_order *o = &chain->order;
    memset(chain->sum, 0, chain->n * sizeof *chain->sum);
    memset(chain->outside, 0, o->n * sizeof *chain->outside);
    memset(chain->came, 0, o->n * sizeof *chain->came);
    for (uint32_t t = 0; t < chain->n_transitions; t++)
        chain->sum[chain->from[t]] += weight[t];
    for (uint32_t t = 0; t < chain->n_transitions; t++) {
        if (chain->from[t] || !chain->to[t])
            continue;
        cs_lanes part = weight[t] / chain->sum[0];
        cs_lanes_where_positive(&part, &weight[t]);
        chain->came[o->place[chain->to[t]]] += part;
    }
    for (uint32_t p = 0; p < o->n; p++)
        eliminate(chain, weight, p);
    memset(visits, 0, chain->n * sizeof *visits);
    visits[0] = (cs_lanes){0} + 1;
    for (uint32_t p = o->n; p-- > 0;) {
        cs_lanes here = chain->came[p] / chain->leaving[p];
        visits[o->state[p]] = here;
        for (size_t e = o->earlier_start[p]; e < o->earlier_start[p + 1]; e++)
            chain->came[o->earlier[e]] += here * chain->earlier[e];
    }
    return 0;
}

int cs_markov_solve(struct cs_markov *chain, const double *weight, double *visits)
{
    cs_lanes *weights = malloc(((size_t)chain->n_transitions + 1) * sizeof *weights),
             *all = malloc(((size_t)chain->n + 1) * sizeof *all);
    int rc = weights && all ? 0 : -ENOMEM;
    for (uint32_t t = 0; rc == 0 && t < chain->n_transitions; t++)
        weights[t] = (cs_lanes){0} + weight[t];
    if (rc == 0)
        rc = cs_markov_solve_lanes(chain, weights, all);
    for (uint32_t i = 0; rc == 0 && i < chain->n; i++)
        visits[i] = all[i][0];
    free(weights);
    free(all);
    return rc;
}
