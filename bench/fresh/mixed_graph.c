/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A step over a graph: reads distances of random vertices out of 64 MB, chooses edges that can't be guessed,
 * divides weights. No cause has more than half of the time. Variants 1 to 3 remove the misses, the
 * mispredictions and the divisions. */
#include "../kernels/kernel.h"

enum { READ = 800, EDGES = 3000, WEIGHTS = 4096, VERTICES = 8 << 20 };

struct graph {
    uint64_t *distance, mask, at, sum;
    uint32_t random[EDGES], queue[EDGES];
    uint64_t weight[WEIGHTS], degree[WEIGHTS], share[WEIGHTS];
    int shifts;
};

static HOT uint64_t relax(void *argument)
{
    struct graph *g = argument;
    uint64_t at = g->at, sum = 0, n = 0, mask = g->mask;
    for (unsigned i = 0; i < READ; i++, at += 0x9e3779b97f4a7c15)
        sum += g->distance[at >> 33 & mask];
    g->at = at;
    for (unsigned i = 0; i < EDGES; i++) {
        if (g->random[i] & 1) {
            g->queue[n++] = i;
            __asm__ volatile("" : "+r"(n));
        }
        g->random[i] = g->random[i] >> 1 | g->random[i] << 31;
    }
    if (g->shifts)
        for (unsigned i = 0; i < WEIGHTS; i++)
            g->share[i] = g->weight[i] >> (g->degree[i] & 63);
    else
        for (unsigned i = 0; i < WEIGHTS; i++)
            g->share[i] = g->weight[i] / g->degree[i];
    g->sum += sum + n;
    return EDGES;
}

int main(int argc, char **argv)
{
    static struct graph g;
    uint64_t seed = 88172645463325252;
    int without = variant(argc, argv);
    g.distance = memory((size_t)VERTICES * 8, 1);
    g.mask = without == 1 ? 2047 : VERTICES - 1;
    g.shifts = without == 3;
    for (unsigned i = 0; i < WEIGHTS; i++)
        g.weight[i] = next_random(&seed), g.degree[i] = (next_random(&seed) & 0xfffff) + 3;
    for (unsigned i = 0; i < EDGES; i++)
        g.random[i] = without == 2 ? (i & 1) * UINT32_MAX : (uint32_t)(next_random(&seed) >> 20);
    return run_kernel("mixed_graph", argc, argv, relax, &g);
}
