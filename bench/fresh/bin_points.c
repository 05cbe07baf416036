/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes points into the cells of a grid of 128 MB on huge pages, in random order; nothing is read. Variant: a
 * grid of 16 KB. */
#include "../kernels/kernel.h"

struct cell {
    float x, y;
    uint32_t id, layer;
};

struct grid {
    struct cell *cells;
    uint64_t mask, state;
};

static HOT uint64_t bin(void *argument)
{
    struct grid *g = argument;
    struct cell *cells = g->cells;
    uint64_t s = g->state, mask = g->mask;
    for (uint32_t i = 0; i < ITERATIONS_A_CALL; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        struct cell *c = &cells[s >> 33 & mask];
        c->id = i;
        c->layer = (uint32_t)s;
    }
    g->state = s;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    uint64_t n = variant(argc, argv) ? 1 << 10 : 8 << 20;
    struct grid g = {memory(n * sizeof(struct cell), 1), n - 1, 1};
    return run_kernel("bin_points", argc, argv, bin, &g);
}
