/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Edge counts from paths that were interpreted from samples. What differs from bursts:
 *
 * A path ends where a direction isn't known, which is no event of the program. Of a branch from which some
 * paths know the way, these alone say where control goes. Where none does, the samples behind it say it, in
 * proportion.
 *
 * Paths begin at samples, more of them where time goes than where much runs. Snapshots that came first to the
 * same branch are pooled, with the weight of how often that branch runs. So an iteration's slow block says no
 * more about its directions than a fast one. Within a block slow turns still count more, and nothing here
 * corrects that. Replicates vary each direction by the measured size of that bias (CS_MODEL_PATH_BIAS). */
#include "analysis/frequency/edge_flow_internal.h"
#include "analysis/frequency/model.h"
#include "store/table/burst_schemas.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHT_MIN 1e-9

struct walking {
    struct cs_edge_flow *t;
    const struct path_groups *g;
    const struct path_chain *c;
    uint32_t *group_state; /* 0: unknown */
    double *group_weight;
    double *count, *weight, *visits; /* by edge; by transition of the chain; by state */
    double *starts, *out,
        *ends;    /* by state: paths that began there, what was seen to leave it, ended there */
    double *open; /* by state: sum of the shares of its ways */
    double *cut;  /* by state: share of what comes to it that ended there for no lack of knowledge */
};

/* The states' groups, and how many paths began in each. */
static void find_starts(struct walking *w)
{
    const struct cs_edge_flow *t = w->t;
    for (size_t i = 0; i < t->n; i++) {
        uint32_t k = w->c->from[i];
        if (i && w->c->from[i - 1] == k)
            continue;
        uint64_t id = cs_path_group(t->images[t->list[i].image], t->list[i].from);
        uint32_t group = burst_edges_index(&w->g->rows, w->g->n, id);
        if (group < UINT32_MAX)
            w->group_state[group] = k;
    }
    for (size_t i = 0; i < w->g->rows.n_samples; i++) {
        const struct sampled_time *one = &w->g->rows.samples[i];
        size_t at = edge_flow_next_branch(t, one->image, one->offset);
        if (at != SIZE_MAX && t->list[at].from == one->offset)
            w->starts[w->c->from[at]] += one->count;
    }
}

/* Paths that were long enough, or came to a system call, end as bursts do: where control hardly ever leaves a
 * loop, the loops are to one another as the paths that began in them. */
static int find_cuts(struct walking *w)
{
    uint32_t n = w->c->n_states;
    double *in = calloc(n, sizeof *in), *out = calloc(n, sizeof *out), *ends = calloc(n, sizeof *ends);
    int rc = in && out && ends ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < w->t->n; i++) {
        const struct cs_counted_edge *one = &w->t->list[i];
        out[w->c->from[i]] += one->count;
        in[w->c->to[i]] += one->count;
        ends[w->c->from[i]] = fmax(ends[w->c->from[i]], one->ends);
    }
    for (uint32_t k = 1; rc == 0 && k < n; k++) {
        double cut = fmax(in[k] + w->starts[k] - out[k] - ends[k], 0);
        w->cut[k] = cut + out[k] > 0 ? cut / (cut + out[k]) : 0;
    }
    free(in);
    free(out);
    free(ends);
    return rc;
}

/* Of a way that nobody knows: by how many paths began where it leads to. (By that over the block's length, or
 * all ways alike: no better, no worse.) */
static double share_of_way(const struct walking *w, size_t i)
{
    const struct cs_counted_edge *one = &w->t->list[i];
    return one->to == one->from ? 0 : w->starts[w->c->to[i]] + 0.5;
}

/* What the groups don't hold, because they would have taken too much room, keeps weight 1. */
static void count_edges(struct walking *w)
{
    for (size_t i = 0; i < w->t->n; i++)
        w->count[i] = w->t->list[i].count;
    memset(w->out, 0, w->c->n_states * sizeof *w->out);
    memset(w->open, 0, w->c->n_states * sizeof *w->open);
    memset(w->ends, 0, w->c->n_states * sizeof *w->ends);
    for (size_t i = 0; i < w->g->rows.n; i++) {
        const struct burst_edge *row = &w->g->rows.rows[i];
        w->count[row->edge] += (w->group_weight[row->burst] - 1) * row->count;
    }
    for (size_t i = 0; i < w->t->n; i++) {
        uint32_t k = w->c->from[i];
        w->count[i] = fmax(w->count[i], 0);
        w->out[k] += w->count[i];
        w->ends[k] = fmax(w->ends[k], w->t->list[i].ends);
        w->open[k] += w->t->list[i].ends > 0 ? share_of_way(w, i) : 0;
    }
    for (size_t i = 0; i < w->t->n; i++) {
        uint32_t k = w->c->from[i];
        if (w->out[k] <= 0 && w->open[k] > 0 && w->t->list[i].ends > 0)
            w->count[i] = w->ends[k] * share_of_way(w, i) / w->open[k];
    }
}

static int solve(struct walking *w)
{
    size_t n = w->t->n;
    double *out = w->out; /* with what was filled in */
    memset(out, 0, w->c->n_states * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        w->weight[i] = w->count[i];
        out[w->c->from[i]] += w->count[i];
    }
    for (uint32_t k = 1; k < w->c->n_states; k++) {
        w->weight[n + 2 * (k - 1)] = w->starts[k] + WEIGHT_MIN;
        double cut = fmax(CS_MODEL_PATH_CUT_WEIGHT * w->cut[k], WEIGHT_MIN);
        w->weight[n + 2 * (k - 1) + 1] = out[k] > 0 && cut < 1 ? out[k] * cut / (1 - cut) : w->ends[k] + 1;
    }
    return cs_markov_solve(w->c->chain, w->weight, w->visits);
}

static void reweigh(struct walking *w)
{
    double visits = 0, starts = 0;
    for (uint32_t k = 1; k < w->c->n_states; k++) {
        visits += w->visits[k];
        starts += w->starts[k];
    }
    for (uint32_t b = 0; b < w->g->n; b++) {
        uint32_t k = w->group_state[b];
        double began = w->starts[k], wanted = visits > 0 ? w->visits[k] / visits * starts : 0;
        if (!k || began <= 0)
            continue;
        double to = (wanted + CS_MODEL_PATH_PRIOR) / (began + CS_MODEL_PATH_PRIOR);
        to = to > CS_MODEL_PATH_WEIGHT_MAX         ? CS_MODEL_PATH_WEIGHT_MAX
             : to < 1.0 / CS_MODEL_PATH_WEIGHT_MAX ? 1.0 / CS_MODEL_PATH_WEIGHT_MAX
                                                   : to;
        w->group_weight[b] =
            pow(w->group_weight[b], 1 - CS_MODEL_PATH_DAMPING) * pow(to, CS_MODEL_PATH_DAMPING);
    }
}

/* Flows in the unit of what was seen. */
static void lay(struct walking *w, int replicate)
{
    double sum = 0;
    size_t n = w->t->n;
    for (size_t i = 0; i < n; i++) {
        double out = w->out[w->c->from[i]];
        w->weight[i] = out > 0 ? w->visits[w->c->from[i]] * w->count[i] / out : 0;
        sum += w->weight[i];
    }
    for (size_t i = 0; i < n; i++) {
        double flow = sum > 0 ? w->weight[i] / sum * w->t->total_count : 0;
        if (replicate < 0)
            w->t->list[i].flow = flow;
        else
            w->t->list[i].replicate[replicate] = (float)flow;
    }
}

static int estimate(struct walking *w)
{
    struct cs_random random = {1};
    find_starts(w);
    int rc = find_cuts(w);
    for (uint32_t b = 0; b < w->g->n; b++)
        w->group_weight[b] = 1;
    for (unsigned round = 0; rc == 0 && round <= CS_MODEL_PATH_ROUNDS; round++) {
        if (round)
            reweigh(w);
        count_edges(w);
        rc = solve(w);
    }
    if (rc == 0)
        lay(w, -1);
    for (int r = 0; rc == 0 && r < CS_EDGE_FLOW_REPLICATES; r++) {
        count_edges(w);
        for (size_t i = 0; i < w->t->n; i++) {
            double seen = w->t->list[i].count,
                   spread = sqrt(CS_MODEL_PATH_BIAS * CS_MODEL_PATH_BIAS + (seen > 0 ? 1 / seen : 1));
            w->count[i] *= exp(spread * burst_weights_normal(&random) - spread * spread / 2);
        }
        rc = solve(w);
        lay(w, r);
    }
    return rc;
}

int path_flow_solve(struct cs_edge_flow *t, const struct path_groups *groups, const struct path_chain *chain)
{
    struct walking w = {.t = t, .g = groups, .c = chain};
    uint32_t n_states = chain->n_states;
    w.group_state = calloc(groups->n + 1UL, sizeof *w.group_state);
    w.group_weight = calloc(groups->n + 1UL, sizeof *w.group_weight);
    w.count = calloc(t->n + 1, sizeof *w.count);
    w.weight = calloc(t->n + 2UL * n_states, sizeof *w.weight);
    w.visits = calloc(n_states, sizeof *w.visits);
    w.starts = calloc(n_states, sizeof *w.starts);
    w.out = calloc(n_states, sizeof *w.out);
    w.ends = calloc(n_states, sizeof *w.ends);
    w.open = calloc(n_states, sizeof *w.open);
    w.cut = calloc(n_states, sizeof *w.cut);
    int rc = -ENOMEM;
    if (w.group_state && w.group_weight && w.count && w.weight && w.visits && w.starts && w.out && w.ends &&
        w.open && w.cut)
        rc = estimate(&w);
    free(w.group_state);
    free(w.group_weight);
    free(w.count);
    free(w.weight);
    free(w.visits);
    free(w.starts);
    free(w.out);
    free(w.ends);
    free(w.open);
    free(w.cut);
    return rc;
}
