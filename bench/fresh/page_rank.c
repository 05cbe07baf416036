/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pull step of page rank: each vertex adds the ranks of sixteen random others, out of 32 MB on small pages.
 * Variant: neighbours among the first 2,048 vertices. */
#include "../kernels/kernel.h"

enum { VERTICES = 4 << 20, ROWS = 1 << 16, DEGREE = 16 };

struct graph {
    double *rank, *next;
    uint32_t *source;
};

static HOT uint64_t pull_ranks(void *argument)
{
    struct graph *g = argument;
    for (unsigned v = 0; v < ROWS; v++) {
        double sum = 0;
        for (unsigned e = v * DEGREE; e < (v + 1) * DEGREE; e++)
            sum += g->rank[g->source[e]];
        g->next[v] = 0.15 + 0.85 * sum;
    }
    return ROWS * DEGREE;
}

int main(int argc, char **argv)
{
    struct graph g = {memory((size_t)VERTICES * 8, 0), memory(ROWS * 8, 1), memory(ROWS * DEGREE * 4, 1)};
    uint64_t seed = 88172645463325252, mask = variant(argc, argv) ? 2047 : VERTICES - 1;
    for (unsigned e = 0; e < ROWS * DEGREE; e++)
        g.source[e] = (uint32_t)(next_random(&seed) & mask);
    for (unsigned v = 0; v < VERTICES; v++)
        g.rank[v] = 1;
    return run_kernel("page_rank", argc, argv, pull_ranks, &g);
}
