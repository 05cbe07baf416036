/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much each burst counts: the time that it stands for, times the instructions that its group runs in a unit
 * of time. */
#include "analysis/frequency/edge_flow_internal.h"
#include "analysis/frequency/model.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN_INSTRUCTIONS 16000.0 /* of a burst whose length an old store doesn't tell */

double burst_weights_normal(struct cs_random *random)
{
    return sqrt(-2 * log(cs_random_unit(random))) * cos(6.283185307179586 * cs_random_unit(random));
}

uint64_t hot_branch_group(uint32_t image, uint64_t offset)
{
    return offset * 64 + image % 64;
}

CS_ORDER(by_number, uint64_t, cs_order(*a, *b))

CS_ORDER(by_burst_number, struct burst_entry, cs_order(a->burst, b->burst))

/* Index of the burst with that number; UINT32_MAX: none. */
uint32_t burst_edges_index(const struct burst_edges *w, uint32_t n_bursts, uint64_t number)
{
    const uint64_t *found = cs_find(&number, w->number, n_bursts, by_number);
    return found ? (uint32_t)(found - w->number) : UINT32_MAX;
}

/* A burst's group: that of the branch which it took most, or did at its entry where that is known. (The
 * weight of its edges must not depend on where they led: a phase's end would count by the next one's.)
 *
 * And what an edge counts: where control goes from a branch depends on the phase, so a long burst's
 * thousand edges from it are neither a thousand draws nor one. */
static void find_groups(struct burst_weights *b, const struct cs_edge_flow *t, struct burst_edges *w,
                        double *best)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct burst_edge *row = &w->rows[i];
        b->edges[row->burst] += row->count;
        if (row->count > best[row->burst]) {
            best[row->burst] = row->count;
            const struct cs_counted_edge *edge = &t->list[row->edge];
            b->group[row->burst] = hot_branch_group(edge->image, edge->from);
        }
    }
    cs_sort(w->entries, w->n_entries, by_burst_number);
    for (uint32_t i = 0; i < b->n; i++) {
        struct burst_entry key = {.burst = w->number[i]};
        const struct burst_entry *found = cs_find(&key, w->entries, w->n_entries, by_burst_number);
        b->entry[i] = found;
        if (found)
            b->group[i] = found->group;
        b->length[i] = found && found->instructions > 0 ? found->instructions : PLAIN_INSTRUCTIONS;
        b->share[i] = 1 / (1 + b->length[i] / CS_MODEL_LONG_INSTRUCTIONS);
    }
}

/* A burst that was timed itself has its own rate: its edges are from the time that it took, however that was.
 */
static void take_own_rates(struct burst_weights *b, const struct burst_edges *w,
                           const struct timed_intervals *intervals, double *ns, double *instructions)
{
    for (size_t i = 0; i < intervals->n; i++) {
        const struct timed_interval *row = &intervals->rows[i];
        uint32_t burst = burst_edges_index(w, b->n, row->burst);
        if (burst < UINT32_MAX) {
            ns[burst] += row->ns;
            instructions[burst] += row->instructions;
        }
    }
    for (uint32_t i = 0; i < b->n; i++)
        if (ns[i] > 0) {
            b->rate[i].weight = instructions[i] / ns[i] / b->mean_rate;
            b->n_timed++;
        }
}

static int find_rates(struct burst_weights *b, const struct burst_edges *w, struct timed_intervals *intervals)
{
    /* An interval speaks for the group of its burst, whose thread it shows a moment later. */
    for (size_t i = 0; i < intervals->n; i++) {
        uint32_t burst = burst_edges_index(w, b->n, intervals->rows[i].burst);
        if (burst < UINT32_MAX)
            intervals->rows[i].group = b->group[burst];
    }
    int rc = group_rates(intervals, b->group, b->n, CS_MODEL_RATE_SPREAD, b->rate, &b->mean_rate);
    double *ns = calloc(b->n + 1, sizeof *ns), *instructions = calloc(b->n + 1, sizeof *instructions);
    if (rc == 0 && ns && instructions)
        take_own_rates(b, w, intervals, ns, instructions);
    else
        rc = -ENOMEM;
    free(ns);
    free(instructions);
    return rc;
}

/* A phase of the program has many groups, and what isn't known of their rates is much the same for all of them:
 * drawn for each by itself it would cancel. So each edge has a draw, and a burst the sum of its edges', each by
 * the root of its share (nearly normal): two bursts are as alike as what they ran (by Bhattacharyya's coefficient). */
static int draw_common(struct burst_weights *b, const struct cs_edge_flow *t, const struct burst_edges *w)
{
    float(*of_edge)[CS_EDGE_FLOW_REPLICATES] = malloc((t->n + 1) * sizeof *of_edge);
    b->common = calloc(b->n + 1, sizeof *b->common);
    for (size_t i = 0; of_edge && b->common && i < t->n; i++) {
        const struct cs_counted_edge *edge = &t->list[i];
        struct cs_random random = {hot_branch_group(edge->image, edge->from) ^ edge->to << 32};
        random.state = cs_random_next(&random);
        for (unsigned round = 0; round < CS_EDGE_FLOW_REPLICATES; round++)
            of_edge[i][round] =
                (float)(sqrt(12) * (cs_random_unit(&random) - 0.5)); /* of variance 1, and cheap */
    }
    for (size_t i = 0; of_edge && b->common && i < w->n; i++) {
        const struct burst_edge *row = &w->rows[i];
        float part = row->count > 0 ? (float)sqrt(row->count / b->edges[row->burst]) : 0;
        for (unsigned round = 0; round < CS_EDGE_FLOW_REPLICATES; round++)
            b->common[row->burst][round] += part * of_edge[row->edge][round];
    }
    int rc = of_edge && b->common ? 0 : -ENOMEM;
    free(of_edge);
    return rc;
}

int burst_weights_open(struct burst_weights *b, const struct cs_edge_flow *t, struct burst_edges *w,
                       struct timed_intervals *intervals)
{
    uint32_t n = t->n_bursts;
    double *best = calloc(n + 1, sizeof *best);
    *b = (struct burst_weights){.n = n,
                                .weight = calloc(n + 1, sizeof *b->weight),
                                .group = calloc(n + 1, sizeof *b->group),
                                .share = calloc(n + 1, sizeof *b->share),
                                .length = calloc(n + 1, sizeof *b->length),
                                .edges = calloc(n + 1, sizeof *b->edges),
                                .rate = calloc(n + 1, sizeof *b->rate),
                                .entry = calloc(n + 1, sizeof *b->entry)};
    int rc = best && b->weight && b->group && b->share && b->length && b->edges && b->rate && b->entry
                 ? 0
                 : -ENOMEM;
    if (rc == 0)
        find_groups(b, t, w, best);
    free(best);
    if (rc == 0)
        rc = draw_common(b, t, w);
    if (rc == 0)
        rc = strata_open(b->entry, n, w, &b->strata);
    if (rc == 0)
        b->strata_sums = calloc(b->strata.n + 1, sizeof *b->strata_sums);
    return rc == 0 && b->strata_sums ? find_rates(b, w, intervals) : -ENOMEM;
}

/* Time that a burst stands for: within its stratum as much as it tells (its edges, each by what it
 * counts), all of them together as much as was sampled there; or code whose bursts are short would have too
 * little. Times instructions in that time, by its rate, over its own: the weight of its edges, 1 in the
 * mean, as edges have that aren't known by burst. Before: factors of the bursts' time. */
static void weigh(struct burst_weights *b)
{
    double seen = 0, weighed = 0;
    for (uint32_t i = 0; i < b->n; i++)
        b->weight[i] *= b->share[i] * b->length[i];
    strata_weigh(&b->strata, b->weight, b->n, b->strata_sums);
    for (uint32_t i = 0; i < b->n; i++) {
        b->weight[i] *= b->rate[i].weight / b->length[i];
        seen += b->edges[i];
        weighed += b->weight[i] * b->edges[i];
    }
    for (uint32_t i = 0; i < b->n && weighed > 0; i++)
        b->weight[i] *= seen / weighed;
}

void burst_weights_even(struct burst_weights *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        b->weight[i] = 1;
    weigh(b);
}

void burst_weights_draw(struct burst_weights *b, struct cs_random *random, unsigned round, bool known_bias)
{
    assert(round < CS_EDGE_FLOW_REPLICATES);
    for (uint32_t i = 0; i < b->n; i++)
        b->weight[i] = -log(cs_random_unit(random));
    weigh(b);
    for (uint32_t i = 0; i < b->n && !known_bias; i++) {
        struct cs_random of_group = {b->group[i] * 0x2545f4914f6cdd1d + round};
        double bias =
            b->mean_rate > 0 ? CS_MODEL_INTERVAL_BIAS : 0; /* without intervals the spread has all of it */
        double own = burst_weights_normal(&of_group), common = (double)b->common[i][round];
        b->weight[i] *= exp(hypot(b->rate[i].spread, bias) * (own + common));
    }
}

/* In the time that a burst stands for ran its rate times its edges an instruction. */
double burst_weights_scale(const struct burst_weights *b)
{
    double edges = 0, time = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        edges += b->weight[i] * b->edges[i];
        time += b->weight[i] * b->length[i] / b->rate[i].weight;
    }
    return b->mean_rate > 0 && time > 0 ? b->mean_rate * edges / time : 0;
}

int64_t burst_weights_number_groups(const struct burst_weights *b, uint32_t *of_burst)
{
    uint32_t kept = 0;
    uint64_t *sorted = malloc((b->n + 1) * sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    memcpy(sorted, b->group, b->n * sizeof *sorted);
    cs_sort(sorted, b->n, by_number);
    for (uint32_t i = 0; i < b->n; i++)
        if (!kept || sorted[kept - 1] != sorted[i])
            sorted[kept++] = sorted[i];
    for (uint32_t i = 0; i < b->n; i++) {
        const uint64_t *found = bsearch(&b->group[i], sorted, kept, sizeof *sorted, by_number);
        of_burst[i] = (uint32_t)(found - sorted);
    }
    free(sorted);
    return kept;
}

void burst_weights_fini(struct burst_weights *b)
{
    free(b->weight);
    free(b->group);
    free(b->share);
    free(b->length);
    free(b->edges);
    free(b->rate);
    free(b->entry);
    free(b->common);
    free(b->strata_sums);
    strata_fini(&b->strata);
}
