/* SPDX-License-Identifier: GPL-2.0-or-later */
/* States of the chain: 0 outside, then one for each branch that was seen, in the order of the list. */
#include "analysis/frequency/edge_flow.h"
#include "analysis/frequency/markov_chain.h"
#include "analysis/frequency/flow_cache.h"
#include "analysis/frequency/edge_flow_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESTART_WEIGHT 0.6 /* of a burst's beginning and end, beside 1 for a transfer that was seen */
#define LEAST 1e-9

struct solving {
    struct cs_transfers *t;
    struct windows *w;
    struct paces *paces;
    struct burst_weights bursts;
    uint32_t n_states;
    uint32_t *from, *to; /* states of each transfer, then of the restarts: 0 → s, s → 0 */
    struct cs_chain *chain;
    double *weight, *visits, *in, *out;
    double *counts;        /* by transfer, of the current weights */
    uint32_t *start, *end; /* states, by burst; 0: unknown */
    double *starts, *ends; /* by state, of the current weights */
    bool known_bias;       /* replicates vary by the bursts drawn alone */
    uint64_t random;
    void (*tell)(unsigned done, unsigned total, void *arg);
    void *tell_arg;
};

static int make_chain(struct solving *s)
{
    struct cs_transfers *t = s->t;
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
        size_t next = transfers_next_branch(t, t->list[i].to_image, t->list[i].to);
        to[i] = next == SIZE_MAX ? 0 : from[next];
    }
    s->n_states = states;
    for (uint32_t k = 1; k < states; k++) {
        from[n + 2 * (k - 1)] = 0;
        to[n + 2 * (k - 1)] = k;
        from[n + 2 * (k - 1) + 1] = k;
        to[n + 2 * (k - 1) + 1] = 0;
    }
    s->chain = cs_chain_open(states, from, to, n + 2 * (states - 1));
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

static int find_ends(struct solving *s)
{
    const struct cs_transfers *t = s->t;
    const struct beginning *const *beginning = s->bursts.beginning;
    s->start = calloc(t->n_bursts + 1, sizeof *s->start);
    s->end = calloc(t->n_bursts + 1, sizeof *s->end);
    if (!s->start || !s->end)
        return -ENOMEM;
    for (uint32_t b = 0; b < t->n_bursts; b++) {
        bool known = beginning[b] && beginning[b]->image != UINT32_MAX;
        size_t first = known ? transfers_next_branch(t, beginning[b]->image, beginning[b]->start) : SIZE_MAX;
        s->start[b] = first == SIZE_MAX ? 0 : s->from[first];
    }
    return transfers_find_ends(s->w, s->from, s->to, s->n_states, s->start, s->end);
}

/* Counts of the transfers under the burst weights. What the windows don't hold (bursts beyond their number,
 * LBR) keeps weight 1. */
static void weigh(struct solving *s)
{
    for (size_t i = 0; i < s->t->n; i++)
        s->counts[i] = s->t->list[i].count;
    for (size_t i = 0; i < s->w->n; i++)
        s->counts[s->w->rows[i].transfer] +=
            (s->bursts.weight[s->w->rows[i].burst] - 1) * s->w->rows[i].count;
    for (size_t i = 0; i < s->t->n; i++)
        if (s->counts[i] < 0) /* windows of an edge profile that was lost */
            s->counts[i] = 0;
}

/* Without windows: a gamma-like factor with the relative variance that the squares tell. */
static void vary_edges(struct solving *s)
{
    for (size_t i = 0; i < s->t->n; i++) {
        const struct cs_transfer *one = &s->t->list[i];
        double relative = one->count > 0 ? fmax(one->squares, one->count) / (one->count * one->count) : 0;
        double spread = sqrt(log1p(relative));
        s->counts[i] = one->count * exp(spread * transfers_normal(&s->random) - spread * spread / 2);
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

/* Flow of each transfer from s->counts. With restarts of weight 1 all states would be visited as often as
 * they were seen: regions that few transfers link are to one another nearly as their bursts are, which
 * outnumber these, whatever that weight; regions that many link are as these say. */
static int solve(struct solving *s, int replicate)
{
    struct cs_transfers *t = s->t;
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
        s->weight[n + 2 * (k - 1)] = RESTART_WEIGHT * (s->starts[k] + fmax(others, 0)) + LEAST * s->out[k];
        s->weight[n + 2 * (k - 1) + 1] = RESTART_WEIGHT * (s->ends[k] + fmax(-others, 0)) + LEAST * s->out[k];
    }
    if (cs_chain_solve(s->chain, s->weight, s->visits) < 0)
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
    int rc = transfers_read_groups(store, s->t, &groups, err);
    if (rc == 0) {
        rc = make_chain(s);
        const struct path_chain chain = {s->chain, s->from, s->to, s->n_states};
        if (rc == 0)
            rc = transfers_solve_paths(s->t, &groups, &chain);
        if (rc < 0)
            cs_fail(err, ENOMEM, "no memory to solve for %zu edges", s->t->n);
    }
    transfers_windows_fini(&groups.rows);
    return rc;
}

static int prepare(struct solving *s)
{
    int rc = make_chain(s);
    if (rc == 0)
        rc = transfers_weights_open(&s->bursts, s->t, s->w, s->paces);
    return rc == 0 ? find_ends(s) : rc;
}

static int estimate(struct solving *s)
{
    int rc = prepare(s);
    if (rc < 0)
        return rc;
    transfers_weights_even(&s->bursts);
    s->t->executions_a_flow_ns = transfers_weights_scale(&s->bursts) / s->t->total_count;
    weigh(s);
    if (s->tell)
        s->tell(0, CS_REPLICATES + 1, s->tell_arg);
    rc = solve(s, -1);
    for (int k = 0; rc == 0 && k < CS_REPLICATES; k++) {
        if (s->t->n_bursts) {
            transfers_weights_draw(&s->bursts, &s->random, (unsigned)k, s->known_bias);
            weigh(s);
        } else
            vary_edges(s);
        if (s->tell)
            s->tell((unsigned)k + 1, CS_REPLICATES + 1, s->tell_arg);
        rc = solve(s, k);
    }
    return rc;
}

/* Burst weights of places that fit the truth best. */
static int fit_places(struct solving *s, double (*executions)(const char *image, uint64_t from, void *arg),
                      void *arg)
{
    const struct cs_transfers *t = s->t;
    size_t n = s->w->n;
    uint32_t *of_burst = malloc((t->n_bursts + 1) * sizeof *of_burst),
             *place = malloc((n + 1) * sizeof *place), *state = malloc((n + 1) * sizeof *state);
    double *count = malloc((n + 1) * sizeof *count), *truth = malloc(s->n_states * sizeof *truth),
           *weight = malloc((t->n_bursts + 1) * sizeof *weight);
    int rc = of_burst && place && state && count && truth && weight ? 0 : -ENOMEM;
    int64_t n_places = rc == 0 ? transfers_number_places(&s->bursts, of_burst) : rc;
    if (n_places >= 0) {
        truth[0] = -1;
        for (size_t i = 0; i < t->n; i++)
            truth[s->from[i]] = executions(t->images[t->list[i].image], t->list[i].from, arg);
        for (size_t i = 0; i < n; i++) {
            place[i] = of_burst[s->w->rows[i].burst];
            state[i] = s->from[s->w->rows[i].transfer];
            count[i] = s->w->rows[i].count * s->bursts.share[s->w->rows[i].burst];
        }
        rc = transfers_fit(place, state, count, n, truth, s->n_states, weight, (uint32_t)n_places);
        for (uint32_t b = 0; rc == 0 && b < t->n_bursts; b++)
            s->bursts.weight[b] = weight[of_burst[b]] * s->bursts.share[b];
    } else
        rc = (int)n_places;
    free(of_burst);
    free(place);
    free(state);
    free(count);
    free(truth);
    free(weight);
    return rc;
}

static void solving_fini(struct solving *s)
{
    cs_chain_close(s->chain);
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
    transfers_weights_fini(&s->bursts);
    transfers_windows_fini(s->w);
    free(s->paces->rows);
}

static int estimate_by(struct solving *s, struct cs_store *store, enum cs_transfers_method method,
                       struct cs_error *err)
{
    if (s->t->from_paths)
        return estimate_paths(s, store, err);
    bool short_ones = method == CS_TRANSFERS_PATHS;
    int rc = short_ones ? 0 : transfers_read_windows(store, s->t, s->w, err);
    if (rc == 0 && !short_ones && method != CS_TRANSFERS_UNPACED)
        rc = transfers_read_paces(store, s->t, s->paces, err);
    if (rc == 0 && estimate(s) < 0)
        rc = cs_fail(err, ENOMEM, "no memory to solve for %zu edges", s->t->n);
    return rc;
}

int cs_transfers_load_telling(struct cs_store *store, enum cs_transfers_method method,
                              void (*tell)(unsigned done, unsigned total, void *arg), void *arg,
                              struct cs_transfers **out, struct cs_error *err)
{
    struct cs_transfers *t = calloc(1, sizeof *t);
    struct windows w = {0};
    struct paces paces = {0};
    struct solving s = {.t = t, .w = &w, .paces = &paces, .random = 1, .tell = tell, .tell_arg = arg};
    if (!t)
        return cs_fail(err, ENOMEM, "no memory for edges");
    uint64_t windows = 0;
    bool paths = method == CS_TRANSFERS_PATHS, kept = method == CS_TRANSFERS_CHAIN;
    s.known_bias = method == CS_TRANSFERS_NOISE;
    int rc = transfers_read(store, paths, t, &windows, err);
    if (rc == 0 && method == CS_TRANSFERS_RAW)
        for (size_t i = 0; i < t->n; i++)
            t->list[i].flow = t->list[i].count;
    else if (rc == 0 && t->n) {
        uint64_t key = flows_key(t, windows);
        if (!kept || !flows_recall(cs_store_path(store), key, t)) {
            rc = estimate_by(&s, store, method, err);
            if (rc == 0 && kept)
                flows_keep(cs_store_path(store), key, t);
        }
    }
    solving_fini(&s);
    if (rc < 0) {
        cs_transfers_close(t);
        return rc;
    }
    *out = t;
    return 0;
}

int cs_transfers_load_fitted(struct cs_store *store,
                             double (*executions)(const char *image, uint64_t from, void *arg), void *arg,
                             struct cs_transfers **out, struct cs_error *err)
{
    struct cs_transfers *t = calloc(1, sizeof *t);
    struct windows w = {0};
    struct paces paces = {0};
    struct solving s = {.t = t, .w = &w, .paces = &paces, .random = 1};
    if (!t)
        return cs_fail(err, ENOMEM, "no memory for edges");
    uint64_t windows = 0;
    int rc = transfers_read(store, false, t, &windows, err);
    if (rc == 0 && t->n)
        rc = transfers_read_windows(store, t, &w, err);
    if (rc == 0 && t->n) {
        rc = prepare(&s);
        if (rc == 0)
            rc = fit_places(&s, executions, arg);
        if (rc == 0)
            weigh(&s);
        for (size_t i = 0; rc == 0 && i < t->n; i++)
            t->list[i].flow = s.counts[i];
        if (rc < 0)
            rc = cs_fail(err, ENOMEM, "no memory to fit %zu edges", t->n);
    }
    solving_fini(&s);
    if (rc < 0) {
        cs_transfers_close(t);
        return rc;
    }
    *out = t;
    return 0;
}

int cs_transfers_load(struct cs_store *store, enum cs_transfers_method method, struct cs_transfers **out,
                      struct cs_error *err)
{
    return cs_transfers_load_telling(store, method, NULL, NULL, out, err);
}
