/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Invariant: state 0 of the chain is outside. Then there is one state for each branch that was seen, in the
 * order of the list of edges. */
#include "analysis/frequency/edge_flow.h"
#include "analysis/frequency/edge_flow_internal.h"
#include "analysis/frequency/flow_cache.h"
#include "analysis/frequency/markov_chain.h"
#include "analysis/frequency/model.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHT_MIN 1e-9 /* every state can be left */

struct solving {
    struct cs_edge_flow *t;
    struct burst_edges w;
    struct timed_intervals intervals;
    struct burst_weights bursts;
    uint32_t n_states;
    uint32_t *from, *to; /* states of each edge, then of the restarts: 0 → s, s → 0 */
    /* Of one solve at a time: */
    struct cs_markov *chain;
    cs_lanes *weight, *visits, *in, *out;
    cs_lanes *burst_weight;  /* of each burst */
    cs_lanes *counts;        /* by edge, of the current weights */
    cs_lanes *starts, *ends; /* by state, of the current weights */
    /* Of all: */
    uint32_t *start, *end; /* states, by burst; 0: unknown */
    bool known_bias;       /* replicates vary by the bursts drawn alone */
    struct cs_random random;
    void (*report)(unsigned done, unsigned total, void *arg);
    void *report_arg;
};

/* What one solve needs beside the chain; what there is is freed by lanes_fini. */
static bool lanes_init(struct solving *s)
{
    size_t n = s->t->n, states = s->n_states;
    s->weight = calloc(n + 2 * states, sizeof *s->weight);
    s->visits = calloc(states, sizeof *s->visits);
    s->in = calloc(states, sizeof *s->in);
    s->out = calloc(states, sizeof *s->out);
    s->starts = calloc(states, sizeof *s->starts);
    s->ends = calloc(states, sizeof *s->ends);
    s->counts = calloc(n + 1, sizeof *s->counts);
    return s->chain && s->weight && s->visits && s->in && s->out && s->starts && s->ends && s->counts;
}

static void lanes_fini(struct solving *s)
{
    cs_markov_close(s->chain);
    free(s->weight);
    free(s->visits);
    free(s->in);
    free(s->out);
    free(s->counts);
    free(s->burst_weight);
    free(s->starts);
    free(s->ends);
}

/* Solves what `s` solves, beside it; ends before it. False: no memory. */
static bool twin_init(struct solving *twin, const struct solving *s)
{
    *twin = *s;
    twin->chain = cs_markov_twin(s->chain);
    twin->burst_weight = calloc(s->t->n_bursts + 1, sizeof *twin->burst_weight);
    bool ok = lanes_init(twin) && twin->burst_weight;
    if (!ok)
        lanes_fini(twin);
    return ok;
}

static int make_chain(struct solving *s)
{
    struct cs_edge_flow *t = s->t;
    uint32_t n = (uint32_t)t->n, states = 1;
    uint32_t *from = malloc((3 * (size_t)n + 2) * sizeof *from),
             *to = malloc((3 * (size_t)n + 2) * sizeof *to);
    s->from = from;
    s->to = to;
    if (!from || !to)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || t->list[i].image != t->list[i - 1].image || t->list[i].from != t->list[i - 1].from)
            states++;
        from[i] = states - 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        size_t next = edge_flow_next_branch(t, t->list[i].to_image, t->list[i].to);
        to[i] = next == SIZE_MAX ? 0 : from[next];
    }
    s->n_states = states;
    for (uint32_t k = 1; k < states; k++) {
        from[n + 2 * (k - 1)] = 0;
        to[n + 2 * (k - 1)] = k;
        from[n + 2 * (k - 1) + 1] = k;
        to[n + 2 * (k - 1) + 1] = 0;
    }
    s->chain = cs_markov_open(states, from, to, n + 2 * (states - 1));
    return lanes_init(s) ? 0 : -ENOMEM;
}

static int find_boundaries(struct solving *s)
{
    const struct cs_edge_flow *t = s->t;
    const struct burst_entry *const *entry = s->bursts.entry;
    s->start = calloc(t->n_bursts + 1, sizeof *s->start);
    s->end = calloc(t->n_bursts + 1, sizeof *s->end);
    s->burst_weight = calloc(t->n_bursts + 1, sizeof *s->burst_weight);
    if (!s->start || !s->end || !s->burst_weight)
        return -ENOMEM;
    for (uint32_t b = 0; b < t->n_bursts; b++) {
        bool known = entry[b] && entry[b]->image != UINT32_MAX;
        size_t first = known ? edge_flow_next_branch(t, entry[b]->image, entry[b]->start) : SIZE_MAX;
        s->start[b] = first == SIZE_MAX ? 0 : s->from[first];
    }
    return burst_boundaries_find(&s->w, s->from, s->to, s->n_states, s->start, s->end);
}

/* Of one lane of `into` the weights of the bursts are as they were last set. */
static void take_burst_weights(const struct solving *s, struct solving *into, unsigned lane)
{
    for (uint32_t b = 0; b < s->t->n_bursts; b++)
        into->burst_weight[b][lane] = s->bursts.weight[b];
}

/* Counts of the edges under the burst weights. What isn't kept by burst (bursts beyond their number,
 * LBR) keeps weight 1. */
static void weigh(struct solving *s)
{
    for (size_t i = 0; i < s->t->n; i++)
        s->counts[i] = (cs_lanes){0} + s->t->list[i].count;
    for (size_t i = 0; i < s->w.n; i++) {
        const struct burst_edge *row = &s->w.rows[i];
        s->counts[row->edge] += (s->burst_weight[row->burst] - 1) * row->count;
    }
    for (size_t i = 0; i < s->t->n; i++) /* negative: per-burst edges whose profile of edges was lost */
        cs_lanes_where_positive(&s->counts[i], &s->counts[i]);
}

/* Without per-burst edges: a gamma-like factor with the relative variance that the squares tell. */
static void vary_edges(struct solving *s, struct solving *into, unsigned lane)
{
    for (size_t i = 0; i < s->t->n; i++) {
        const struct cs_counted_edge *one = &s->t->list[i];
        double relative = one->count > 0 ? fmax(one->squares, one->count) / (one->count * one->count) : 0;
        double spread = sqrt(log1p(relative));
        into->counts[i][lane] =
            one->count * exp(spread * burst_weights_normal(&s->random) - spread * spread / 2);
    }
}

/* Bursts that began and ended in each state. */
static void count_ends(struct solving *s)
{
    memset(s->starts, 0, s->n_states * sizeof *s->starts);
    memset(s->ends, 0, s->n_states * sizeof *s->ends);
    for (uint32_t b = 0; b < s->t->n_bursts; b++) {
        s->starts[s->start[b]] += s->burst_weight[b];
        s->ends[s->end[b]] += s->burst_weight[b];
    }
}

/* Weights of the restarts: 0 → k, k → 0. With restarts of weight 1 all states would be visited as often as
 * they were seen: regions that few edges link are to one another nearly as their bursts are, which
 * outnumber these, whatever that weight; regions that many link are as these say. */
static void weigh_restarts(struct solving *s)
{
    uint32_t n = (uint32_t)s->t->n;
    count_ends(s);
    for (uint32_t k = 1; k < s->n_states; k++) {
        /* Of bursts that aren't known apart only what doesn't cancel is seen. */
        cs_lanes others = s->out[k] - s->in[k] - (s->starts[k] - s->ends[k]), less = -others;
        cs_lanes_where_positive(&others, &others);
        cs_lanes_where_positive(&less, &less);
        s->weight[n + 2 * (k - 1)] =
            CS_MODEL_BOUNDARY_WEIGHT * (s->starts[k] + others) + WEIGHT_MIN * s->out[k];
        s->weight[n + 2 * (k - 1) + 1] =
            CS_MODEL_BOUNDARY_WEIGHT * (s->ends[k] + less) + WEIGHT_MIN * s->out[k];
    }
}

/* Flows of each edge from s->counts: of lane i that of replicate first + i, -1: the estimate. */
static int solve(struct solving *s, int first)
{
    struct cs_edge_flow *t = s->t;
    uint32_t n = (uint32_t)t->n;
    cs_lanes sum = {0};
    memset(s->in, 0, s->n_states * sizeof *s->in);
    memset(s->out, 0, s->n_states * sizeof *s->out);
    for (uint32_t i = 0; i < n; i++) {
        s->weight[i] = s->counts[i];
        s->out[s->from[i]] += s->counts[i];
        s->in[s->to[i]] += s->counts[i];
    }
    weigh_restarts(s);
    if (cs_markov_solve_lanes(s->chain, s->weight, s->visits) < 0)
        return -ENOMEM;
    for (uint32_t k = 1; k < s->n_states; k++)
        s->out[k] += s->weight[n + 2 * (k - 1) + 1];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = s->from[i];
        s->counts[i] = s->visits[from] * s->weight[i] / s->out[from];
        cs_lanes_where_positive(&s->counts[i], &s->out[from]);
        sum += s->counts[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        cs_lanes flow = s->counts[i] / sum * t->total_count;
        cs_lanes_where_positive(&flow, &sum);
        for (int lane = 0; lane < CS_MARKOV_LANES && first + lane < CS_EDGE_FLOW_REPLICATES; lane++) {
            if (first + lane < 0)
                t->list[i].flow = flow[lane];
            else
                t->list[i].replicate[first + lane] = (float)flow[lane];
        }
    }
    return 0;
}

static int estimate_paths(struct solving *s, struct cs_store *store, struct cs_error *err)
{
    struct path_groups groups = {.n = 0};
    int rc = edge_flow_read_path_groups(store, s->t, &groups, err);
    if (rc == 0) {
        rc = make_chain(s);
        const struct path_chain chain = {s->chain, s->from, s->to, s->n_states};
        if (rc == 0)
            rc = path_flow_solve(s->t, &groups, &chain);
        if (rc < 0)
            cs_fail(err, ENOMEM, "no memory to solve for %zu edges", s->t->n);
    }
    burst_edges_fini(&groups.rows);
    return rc;
}

static int prepare(struct solving *s)
{
    int rc = s->chain ? 0 : make_chain(s);
    if (rc == 0)
        rc = burst_weights_open(&s->bursts, s->t, &s->w, &s->intervals);
    return rc == 0 ? find_boundaries(s) : rc;
}

/* The bursts' weights of a replicate, or the edges' where none are known apart, into a lane of `into`. -1: of the
 * estimate. */
static void draw(struct solving *s, struct solving *into, int replicate, unsigned lane)
{
    if (replicate < 0) {
        burst_weights_even(&s->bursts);
        s->t->n_timed = s->bursts.n_timed;
        s->t->executions_a_flow_ns = burst_weights_scale(&s->bursts) / s->t->total_count;
    } else if (s->t->n_bursts) {
        burst_weights_draw(&s->bursts, &s->random, (unsigned)replicate, s->known_bias);
    } else {
        vary_edges(s, into, lane);
        return;
    }
    take_burst_weights(s, into, lane);
}

/* Lanes of replicates from `first` on, solved by `at`; their weights are drawn by one after the other. */
struct round {
    struct solving *at;
    int first, rc;
};

static void draw_round(struct solving *s, const struct round *r)
{
    if (s->t->n_bursts == 0)
        weigh(r->at); /* as they were counted; the replicates' lanes are varied */
    for (unsigned n = 0; n < CS_MARKOV_LANES && r->first + (int)n < CS_EDGE_FLOW_REPLICATES; n++)
        draw(s, r->at, r->first + (int)n, n);
}

static void *solve_round(void *argument)
{
    struct round *r = argument;
    if (r->at->t->n_bursts)
        weigh(r->at);
    r->rc = solve(r->at, r->first);
    return NULL;
}

/* Two rounds beside each other, where there is memory for it. */
static int estimate(struct solving *s)
{
    const unsigned total = (CS_EDGE_FLOW_REPLICATES + CS_MARKOV_LANES) / CS_MARKOV_LANES;
    struct solving twin;
    int rc = prepare(s);
    if (rc)
        return rc;
    bool two = twin_init(&twin, s);
    for (int first = -1; rc == 0 && first < CS_EDGE_FLOW_REPLICATES;) {
        struct round here = {s, first, 0}, beside = {&twin, first + CS_MARKOV_LANES, 0};
        bool both = two && beside.first < CS_EDGE_FLOW_REPLICATES;
        pthread_t thread;
        if (s->report)
            s->report((unsigned)(first + 1) / CS_MARKOV_LANES, total, s->report_arg);
        draw_round(s, &here);
        if (both)
            draw_round(s, &beside);
        bool started = both && pthread_create(&thread, NULL, solve_round, &beside) == 0;
        solve_round(&here);
        if (started)
            pthread_join(thread, NULL);
        else if (both)
            solve_round(&beside);
        rc = here.rc ? here.rc : beside.rc;
        first += both ? 2 * CS_MARKOV_LANES : CS_MARKOV_LANES;
    }
    if (two)
        lanes_fini(&twin);
    return rc;
}

/* Burst weights by groups, as `weigher` has them. */
static int weigh_groups(struct solving *s, cs_group_weigher *weigher, void *arg)
{
    const struct cs_edge_flow *t = s->t;
    size_t n = s->w.n;
    uint32_t *of_burst = malloc((t->n_bursts + 1) * sizeof *of_burst),
             *group = malloc((n + 1) * sizeof *group), *branch = malloc((n + 1) * sizeof *branch);
    double *count = malloc((n + 1) * sizeof *count), *weight = malloc((t->n_bursts + 1) * sizeof *weight);
    int64_t n_groups = of_burst && group && branch && count && weight
                           ? burst_weights_number_groups(&s->bursts, of_burst)
                           : -ENOMEM;
    for (size_t i = 0; n_groups >= 0 && i < n; i++) {
        const struct burst_edge *row = &s->w.rows[i];
        group[i] = of_burst[row->burst];
        branch[i] = s->from[row->edge];
        count[i] = row->count * s->bursts.share[row->burst];
    }
    const struct cs_group_counts counts = {group, branch, count, n, (uint32_t)n_groups, s->n_states};
    int rc = n_groups < 0 ? -ENOMEM : weigher(t, s->from, &counts, weight, arg);
    for (uint32_t b = 0; rc == 0 && b < t->n_bursts; b++)
        s->burst_weight[b] = (cs_lanes){0} + weight[of_burst[b]] * s->bursts.share[b];
    free(of_burst);
    free(group);
    free(branch);
    free(count);
    free(weight);
    return rc;
}

static void solving_fini(struct solving *s)
{
    lanes_fini(s);
    free(s->from);
    free(s->to);
    free(s->start);
    free(s->end);
    burst_weights_fini(&s->bursts);
    burst_edges_fini(&s->w);
    free(s->intervals.rows);
}

/* The order of elimination takes as long as reading the bursts, and neither needs the other. */
static void *make_chain_beside(void *argument)
{
    return (void *)(intptr_t)make_chain(argument);
}

static int read_bursts(struct solving *s, struct cs_store *store, enum cs_edge_flow_method method,
                       struct cs_error *err)
{
    pthread_t thread;
    void *made = NULL;
    bool beside = pthread_create(&thread, NULL, make_chain_beside, s) == 0;
    int rc = edge_flow_read_bursts(store, s->t, &s->w, err);
    if (rc == 0 && method != CS_EDGE_FLOW_UNTIMED)
        rc = edge_flow_read_intervals(store, s->t, &s->intervals, err);
    if (beside)
        pthread_join(thread, &made);
    return rc || !made ? rc : cs_fail(err, ENOMEM, "no memory to solve for %zu edges", s->t->n);
}

static int estimate_by(struct solving *s, struct cs_store *store, enum cs_edge_flow_method method,
                       struct cs_error *err)
{
    if (s->t->from_paths)
        return estimate_paths(s, store, err);
    bool short_ones = method == CS_EDGE_FLOW_PATHS;
    int rc = short_ones ? 0 : read_bursts(s, store, method, err);
    if (rc == 0 && estimate(s) < 0)
        rc = cs_fail(err, ENOMEM, "no memory to solve for %zu edges", s->t->n);
    return rc;
}

static int finish(struct solving *s, int rc, struct cs_edge_flow **out)
{
    solving_fini(s);
    if (rc < 0)
        cs_edge_flow_close(s->t);
    else
        *out = s->t;
    return rc < 0 ? rc : 0;
}

int cs_edge_flow_load_reporting(struct cs_store *store, enum cs_edge_flow_method method,
                                void (*report)(unsigned done, unsigned total, void *arg), void *arg,
                                struct cs_edge_flow **out, struct cs_error *err)
{
    struct cs_edge_flow *t = calloc(1, sizeof *t);
    struct solving s = {.t = t,
                        .known_bias = method == CS_EDGE_FLOW_NOISE,
                        .random = {1},
                        .report = report,
                        .report_arg = arg};
    if (!t)
        return cs_fail(err, ENOMEM, "no memory for edges");
    uint64_t key = 0, bursts = 0;
    bool saved = method == CS_EDGE_FLOW_CHAIN;
    int rc = edge_flow_read(store, method == CS_EDGE_FLOW_PATHS, t, &bursts, err);
    if (rc < 0 || !t->n)
        return finish(&s, rc, out);
    if (method == CS_EDGE_FLOW_RAW) {
        for (size_t i = 0; i < t->n; i++)
            t->list[i].flow = t->list[i].count;
    } else if (!saved || !flow_cache_load(cs_store_path(store), key = flow_cache_key(t, bursts), t)) {
        rc = estimate_by(&s, store, method, err);
        if (rc == 0 && saved)
            flow_cache_save(cs_store_path(store), key, t);
    }
    return finish(&s, rc, out);
}

int cs_edge_flow_load(struct cs_store *store, enum cs_edge_flow_method method, struct cs_edge_flow **out,
                      struct cs_error *err)
{
    return cs_edge_flow_load_reporting(store, method, NULL, NULL, out, err);
}

int cs_edge_flow_load_weighted(struct cs_store *store, cs_group_weigher *weigher, void *arg,
                               struct cs_edge_flow **out, struct cs_error *err)
{
    struct cs_edge_flow *t = calloc(1, sizeof *t);
    struct solving s = {.t = t, .random = {1}};
    if (!t)
        return cs_fail(err, ENOMEM, "no memory for edges");
    uint64_t bursts = 0;
    int rc = edge_flow_read(store, false, t, &bursts, err);
    if (rc == 0 && t->n)
        rc = edge_flow_read_bursts(store, t, &s.w, err);
    if (rc == 0 && t->n) {
        rc = prepare(&s);
        if (rc == 0)
            rc = weigh_groups(&s, weigher, arg);
        if (rc == 0)
            weigh(&s);
        for (size_t i = 0; rc == 0 && i < t->n; i++)
            t->list[i].flow = s.counts[i][0];
        if (rc < 0)
            cs_fail(err, -rc, "no memory to weigh %zu edges", t->n);
    }
    return finish(&s, rc, out);
}
