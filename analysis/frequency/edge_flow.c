/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Invariant: states of the chain are numbered 0 for outside, then one for each branch that was seen, in the
 * order of the list of edges. */
#include "analysis/frequency/edge_flow.h"
#include "analysis/frequency/edge_flow_internal.h"
#include "analysis/frequency/flow_cache.h"
#include "analysis/frequency/markov_chain.h"
#include "analysis/frequency/model.h"

#include <errno.h>
#include <math.h>
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
    struct cs_markov *chain;
    double *weight, *visits, *in, *out;
    double *counts;        /* by edge, of the current weights */
    uint32_t *start, *end; /* states, by burst; 0: unknown */
    double *starts, *ends; /* by state, of the current weights */
    bool known_bias;       /* replicates vary by the bursts drawn alone */
    struct cs_random random;
    void (*report)(unsigned done, unsigned total, void *arg);
    void *report_arg;
};

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
    s->weight = calloc((size_t)n + 2 * states, sizeof *s->weight);
    s->visits = calloc(states, sizeof *s->visits);
    s->in = calloc(states, sizeof *s->in);
    s->out = calloc(states, sizeof *s->out);
    s->starts = calloc(states, sizeof *s->starts);
    s->ends = calloc(states, sizeof *s->ends);
    s->counts = calloc((size_t)n + 1, sizeof *s->counts);
    return s->chain && s->weight && s->visits && s->in && s->out && s->starts && s->ends && s->counts
               ? 0
               : -ENOMEM;
}

static int find_boundaries(struct solving *s)
{
    const struct cs_edge_flow *t = s->t;
    const struct burst_entry *const *entry = s->bursts.entry;
    s->start = calloc(t->n_bursts + 1, sizeof *s->start);
    s->end = calloc(t->n_bursts + 1, sizeof *s->end);
    if (!s->start || !s->end)
        return -ENOMEM;
    for (uint32_t b = 0; b < t->n_bursts; b++) {
        bool known = entry[b] && entry[b]->image != UINT32_MAX;
        size_t first = known ? edge_flow_next_branch(t, entry[b]->image, entry[b]->start) : SIZE_MAX;
        s->start[b] = first == SIZE_MAX ? 0 : s->from[first];
    }
    return burst_boundaries_find(&s->w, s->from, s->to, s->n_states, s->start, s->end);
}

/* Counts of the edges under the burst weights. What isn't kept by burst (bursts beyond their number,
 * LBR) keeps weight 1. */
static void weigh(struct solving *s)
{
    for (size_t i = 0; i < s->t->n; i++)
        s->counts[i] = s->t->list[i].count;
    for (size_t i = 0; i < s->w.n; i++)
        s->counts[s->w.rows[i].edge] += (s->bursts.weight[s->w.rows[i].burst] - 1) * s->w.rows[i].count;
    for (size_t i = 0; i < s->t->n; i++)
        if (s->counts[i] < 0) /* per-burst edges whose profile of edges was lost */
            s->counts[i] = 0;
}

/* Without per-burst edges: a gamma-like factor with the relative variance that the squares tell. */
static void vary_edges(struct solving *s)
{
    for (size_t i = 0; i < s->t->n; i++) {
        const struct cs_counted_edge *one = &s->t->list[i];
        double relative = one->count > 0 ? fmax(one->squares, one->count) / (one->count * one->count) : 0;
        double spread = sqrt(log1p(relative));
        s->counts[i] = one->count * exp(spread * burst_weights_normal(&s->random) - spread * spread / 2);
    }
}

/* Bursts that began and ended in each state. */
static void count_ends(struct solving *s)
{
    memset(s->starts, 0, s->n_states * sizeof *s->starts);
    memset(s->ends, 0, s->n_states * sizeof *s->ends);
    for (uint32_t b = 0; b < s->t->n_bursts; b++) {
        s->starts[s->start[b]] += s->bursts.weight[b];
        s->ends[s->end[b]] += s->bursts.weight[b];
    }
}

/* Flow of each edge from s->counts. With restarts of weight 1 all states would be visited as often as
 * they were seen: regions that few edges link are to one another nearly as their bursts are, which
 * outnumber these, whatever that weight; regions that many link are as these say. */
static int solve(struct solving *s, int replicate)
{
    struct cs_edge_flow *t = s->t;
    uint32_t n = (uint32_t)t->n;
    double total = 0, sum = 0;
    memset(s->in, 0, s->n_states * sizeof *s->in);
    memset(s->out, 0, s->n_states * sizeof *s->out);
    for (uint32_t i = 0; i < n; i++) {
        s->weight[i] = s->counts[i];
        s->out[s->from[i]] += s->counts[i];
        s->in[s->to[i]] += s->counts[i];
        total += s->counts[i];
    }
    count_ends(s);
    for (uint32_t k = 1; k < s->n_states; k++) {
        /* Of bursts that aren't known apart only what doesn't cancel is seen. */
        double others = s->out[k] - s->in[k] - (s->starts[k] - s->ends[k]);
        s->weight[n + 2 * (k - 1)] =
            CS_MODEL_BOUNDARY_WEIGHT * (s->starts[k] + fmax(others, 0)) + WEIGHT_MIN * s->out[k];
        s->weight[n + 2 * (k - 1) + 1] =
            CS_MODEL_BOUNDARY_WEIGHT * (s->ends[k] + fmax(-others, 0)) + WEIGHT_MIN * s->out[k];
    }
    if (cs_markov_solve(s->chain, s->weight, s->visits) < 0)
        return -ENOMEM;
    for (uint32_t k = 1; k < s->n_states; k++)
        s->out[k] += s->weight[n + 2 * (k - 1) + 1];
    for (uint32_t i = 0; i < n; i++) {
        double out = s->out[s->from[i]];
        s->counts[i] = out > 0 ? s->visits[s->from[i]] * s->weight[i] / out : 0;
        sum += s->counts[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        double flow = sum > 0 ? s->counts[i] / sum * t->total_count : 0;
        if (replicate < 0)
            t->list[i].flow = flow;
        else
            t->list[i].replicate[replicate] = (float)flow;
    }
    return total >= 0 ? 0 : -EINVAL;
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
    int rc = make_chain(s);
    if (rc == 0)
        rc = burst_weights_open(&s->bursts, s->t, &s->w, &s->intervals);
    return rc == 0 ? find_boundaries(s) : rc;
}

static int estimate(struct solving *s)
{
    int rc = prepare(s);
    if (rc < 0)
        return rc;
    burst_weights_even(&s->bursts);
    s->t->executions_a_flow_ns = burst_weights_scale(&s->bursts) / s->t->total_count;
    weigh(s);
    if (s->report)
        s->report(0, CS_EDGE_FLOW_REPLICATES + 1, s->report_arg);
    rc = solve(s, -1);
    for (int k = 0; rc == 0 && k < CS_EDGE_FLOW_REPLICATES; k++) {
        if (s->t->n_bursts) {
            burst_weights_draw(&s->bursts, &s->random, (unsigned)k, s->known_bias);
            weigh(s);
        } else
            vary_edges(s);
        if (s->report)
            s->report((unsigned)k + 1, CS_EDGE_FLOW_REPLICATES + 1, s->report_arg);
        rc = solve(s, k);
    }
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
        s->bursts.weight[b] = weight[of_burst[b]] * s->bursts.share[b];
    free(of_burst);
    free(group);
    free(branch);
    free(count);
    free(weight);
    return rc;
}

static void solving_fini(struct solving *s)
{
    cs_markov_close(s->chain);
    free(s->from);
    free(s->to);
    free(s->weight);
    free(s->visits);
    free(s->in);
    free(s->out);
    free(s->counts);
    free(s->start);
    free(s->end);
    free(s->starts);
    free(s->ends);
    burst_weights_fini(&s->bursts);
    burst_edges_fini(&s->w);
    free(s->intervals.rows);
}

static int estimate_by(struct solving *s, struct cs_store *store, enum cs_edge_flow_method method,
                       struct cs_error *err)
{
    if (s->t->from_paths)
        return estimate_paths(s, store, err);
    bool short_ones = method == CS_EDGE_FLOW_PATHS;
    int rc = short_ones ? 0 : edge_flow_read_bursts(store, s->t, &s->w, err);
    if (rc == 0 && !short_ones && method != CS_EDGE_FLOW_UNTIMED)
        rc = edge_flow_read_intervals(store, s->t, &s->intervals, err);
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
            t->list[i].flow = s.counts[i];
        if (rc < 0)
            cs_fail(err, -rc, "no memory to weigh %zu edges", t->n);
    }
    return finish(&s, rc, out);
}
