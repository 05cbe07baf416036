/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weights w of places so that sum over places of w × count comes nearest to the truth of each state: counts
 * taken as Poisson, their likelihood rises with each turn of
 *     w ← w × sum(count × truth / estimate) / sum(count)
 * (Richardson and Lucy), which never leaves w ≥ 0. A state whose truth is unknown doesn't speak. */
#include "analysis/frequency/edge_flow_internal.h"

#include <errno.h>
#include <stdlib.h>

#define TURNS 400

int transfers_fit(const uint32_t *row_place, const uint32_t *row_state, const double *row_count,
                  size_t n_rows, const double *truth, uint32_t n_states, double *weight, uint32_t n_places)
{
    double *estimate = calloc(n_states + 1, sizeof *estimate), *all = calloc(n_places + 1, sizeof *all),
           *pull = calloc(n_places + 1, sizeof *pull), seen = 0, weighed = 0;
    int rc = estimate && all && pull ? 0 : -ENOMEM;
    for (uint32_t p = 0; p < n_places; p++)
        weight[p] = 1;
    for (size_t i = 0; rc == 0 && i < n_rows; i++)
        if (truth[row_state[i]] >= 0)
            all[row_place[i]] += row_count[i];
    for (unsigned turn = 0; rc == 0 && turn < TURNS; turn++) {
        for (uint32_t k = 0; k < n_states; k++)
            estimate[k] = 0;
        for (uint32_t p = 0; p < n_places; p++)
            pull[p] = 0;
        for (size_t i = 0; i < n_rows; i++)
            estimate[row_state[i]] += weight[row_place[i]] * row_count[i];
        for (size_t i = 0; i < n_rows; i++)
            if (truth[row_state[i]] >= 0 && estimate[row_state[i]] > 0)
                pull[row_place[i]] += row_count[i] * truth[row_state[i]] / estimate[row_state[i]];
        for (uint32_t p = 0; p < n_places; p++)
            if (all[p] > 0)
                weight[p] *= pull[p] / all[p];
    }
    /* In the unit of counts again: places of which no truth speaks keep their weight of 1. */
    for (size_t i = 0; rc == 0 && i < n_rows; i++)
        if (all[row_place[i]] > 0) {
            seen += row_count[i];
            weighed += weight[row_place[i]] * row_count[i];
        }
    for (uint32_t p = 0; rc == 0 && p < n_places; p++)
        if (all[p] > 0 && weighed > 0)
            weight[p] *= seen / weighed;
    free(estimate);
    free(all);
    free(pull);
    return rc;
}
