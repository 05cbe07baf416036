/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/verdict/ranks.h"

#include "store/base/order.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct ranked {
    double value;
    bool of_side;
    unsigned rank; /* twice the mean rank of its equals, less the smallest one */
};

CS_ORDER(by_begin, struct gate_run, cs_order(a->began_ms, b->began_ms))
CS_ORDER(by_value, struct ranked, cs_order(a->value, b->value))

static bool took_turns(const struct gate_run *run, size_t n)
{
    for (size_t i = 0; i + 1 < n; i += 2)
        if (run[i].side == run[i + 1].side)
            return false;
    return n && n % 2 == 0;
}

static void rank(struct ranked *at, size_t n)
{
    unsigned least = 0;
    cs_sort(at, n, by_value);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && !(at[end].value > at[i].value); end++)
            ;
        const unsigned twice = (unsigned)(i + end); /* of ranks from 0 on: (i + end - 1) / 2, and 1 more */
        least = i == 0 ? twice : least;
        for (size_t k = i; k < end; k++)
            at[k].rank = twice - least;
    }
}

/* Ways to choose `of` of the n, by their sum of ranks: the share that has `sum` or more. Negative: no memory. */
static double share_of_ways(const struct ranked *at, size_t n, size_t of, size_t sum)
{
    size_t most = 0;
    for (size_t i = 0; i < n; i++)
        most += at[i].rank;
    const size_t row = most + 1;
    double *ways = calloc((of + 1) * row, sizeof *ways), beyond = 0, all = 0;
    if (!ways)
        return -1;
    ways[0] = 1;
    for (size_t i = 0, reach = 0; i < n; i++) {
        reach += at[i].rank;
        for (size_t k = i + 1 < of ? i + 1 : of; k > 0; k--)
            for (size_t s = at[i].rank; s <= reach; s++)
                ways[k * row + s] += ways[(k - 1) * row + s - at[i].rank];
    }
    for (size_t s = 0; s <= most; s++) {
        all += ways[of * row + s];
        beyond += s >= sum ? ways[of * row + s] : 0;
    }
    free(ways);
    return beyond / all;
}

double gate_rank_chance(const struct gate_run *run, size_t n, unsigned side, double beyond)
{
    struct gate_run *sorted = calloc(n + 1, sizeof *sorted);
    struct ranked *at = calloc(n + 1, sizeof *at);
    size_t kept = 0, of = 0, sum = 0;
    double chance = 1;
    assert(side < 2 && beyond >= 0);
    if (!sorted || !at) {
        free(sorted);
        free(at);
        return -1;
    }
    for (size_t i = 0; i < n; i++)
        if (!isnan(run[i].value))
            sorted[kept++] = run[i];
    cs_sort(sorted, kept, by_begin);
    kept = kept < GATE_RANKED_MAX ? kept : GATE_RANKED_MAX;
    for (size_t i = 0; i < kept; i++) {
        const bool of_side = sorted[i].side == side;
        at[i] = (struct ranked){of_side ? fmax(sorted[i].value - beyond, 0) : sorted[i].value, of_side, 0};
        of += of_side;
    }
    if (took_turns(sorted, kept)) {
        rank(at, kept);
        for (size_t i = 0; i < kept; i++)
            sum += at[i].of_side ? at[i].rank : 0;
        chance = at[kept - 1].rank ? share_of_ways(at, kept, of, sum) : 1;
    }
    free(sorted);
    free(at);
    return chance;
}
