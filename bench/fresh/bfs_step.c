/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A step of a breadth-first search: reads the depth of every neighbour out of a graph of 96 million vertices, a byte
 * each on huge pages; nearly all have been met before. Variant: a graph of 16,384 vertices. */
#include "../kernels/kernel.h"

enum { VERTICES = 96 << 20, EDGES = 1 << 20, A_CALL = 1 << 16 };

struct graph {
    uint8_t *depth;
    uint32_t *edge, *queue;
    unsigned at;
    uint64_t queued;
};

static HOT uint64_t visit(void *argument)
{
    struct graph *g = argument;
    uint64_t queued = 0;
    for (unsigned i = g->at; i < g->at + A_CALL; i++) {
        uint32_t neighbour = g->edge[i];
        if (!g->depth[neighbour]) {
            g->depth[neighbour] = 2;
            g->queue[queued++] = neighbour;
        }
    }
    g->at = (g->at + A_CALL) % EDGES;
    g->queued += queued;
    return A_CALL;
}

int main(int argc, char **argv)
{
    struct graph g = {memory(VERTICES, 1), memory(EDGES * 4, 0), memory(EDGES * 4, 0), 0, 0};
    uint64_t seed = 4110;
    memset(g.depth, 1, VERTICES);
    for (unsigned i = 0; i < EDGES; i++)
        g.edge[i] = (uint32_t)((next_random(&seed) >> 9) % (variant(argc, argv) ? 16384 : VERTICES));
    return run_kernel("bfs_step", argc, argv, visit, &g);
}
