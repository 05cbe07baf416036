/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weights w of groups so that sum over groups of w × count comes nearest to the true count of each branch.
 * Counts are taken as Poisson. Their likelihood rises with each turn of
 *     w ← w × sum(count × truth / estimate) / sum(count)
 * (Richardson 1972, Lucy 1974), which never leaves w ≥ 0. A branch whose truth is unknown doesn't speak. */
#include "analysis/validation/oracle_fit.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define TURNS 400

int cs_oracle_fit(const struct cs_group_counts *c, const double *truth, double *weight)
{
    assert(truth && weight);
    double *estimate = calloc(c->n_branches + 1UL, sizeof *estimate),
           *all = calloc(c->n_groups + 1UL, sizeof *all), *pull = calloc(c->n_groups + 1UL, sizeof *pull),
           seen = 0, weighed = 0;
    int rc = estimate && all && pull ? 0 : -ENOMEM;
    for (uint32_t g = 0; g < c->n_groups; g++)
        weight[g] = 1;
    for (size_t i = 0; rc == 0 && i < c->n; i++)
        if (truth[c->branch[i]] >= 0)
            all[c->group[i]] += c->count[i];
    for (unsigned turn = 0; rc == 0 && turn < TURNS; turn++) {
        for (uint32_t b = 0; b < c->n_branches; b++)
            estimate[b] = 0;
        for (uint32_t g = 0; g < c->n_groups; g++)
            pull[g] = 0;
        for (size_t i = 0; i < c->n; i++)
            estimate[c->branch[i]] += weight[c->group[i]] * c->count[i];
        for (size_t i = 0; i < c->n; i++)
            if (truth[c->branch[i]] >= 0 && estimate[c->branch[i]] > 0)
                pull[c->group[i]] += c->count[i] * truth[c->branch[i]] / estimate[c->branch[i]];
        for (uint32_t g = 0; g < c->n_groups; g++)
            if (all[g] > 0)
                weight[g] *= pull[g] / all[g];
    }
    /* In the unit of counts again. */
    for (size_t i = 0; rc == 0 && i < c->n; i++)
        if (all[c->group[i]] > 0) {
            seen += c->count[i];
            weighed += weight[c->group[i]] * c->count[i];
        }
    for (uint32_t g = 0; rc == 0 && g < c->n_groups; g++)
        if (all[g] > 0 && weighed > 0)
            weight[g] *= seen / weighed;
    free(estimate);
    free(all);
    free(pull);
    return rc;
}

struct oracle {
    double (*executions)(const char *image, uint64_t from, void *arg);
    void *arg;
};

static int weigh(const struct cs_edge_flow *flow, const uint32_t *branch_of,
                 const struct cs_group_counts *counts, double *weight, void *arg)
{
    const struct oracle *oracle = arg;
    double *truth = malloc((counts->n_branches + 1UL) * sizeof *truth);
    if (!truth)
        return -ENOMEM;
    truth[0] = -1;
    for (size_t i = 0; i < flow->n; i++)
        truth[branch_of[i]] =
            oracle->executions(flow->images[flow->list[i].image], flow->list[i].from, oracle->arg);
    int rc = cs_oracle_fit(counts, truth, weight);
    free(truth);
    return rc;
}

int cs_oracle_flow_load(struct cs_store *store,
                        double (*executions)(const char *image, uint64_t from, void *arg), void *arg,
                        struct cs_edge_flow **out, struct cs_error *err)
{
    struct oracle oracle = {executions, arg};
    return cs_edge_flow_load_weighted(store, weigh, &oracle, out, err);
}
