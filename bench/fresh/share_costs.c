/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shares costs by weights that change from row to row: a division of 64-bit integers each. Variant: shifts. */
#include "../kernels/kernel.h"

enum { ROWS = 512 };

struct costs {
    uint64_t cost[ROWS], weight[ROWS], to[ROWS];
};

static HOT uint64_t share(void *argument)
{
    struct costs *c = argument;
    for (unsigned turn = 0; turn < 50; turn++)
        for (unsigned i = 0; i < ROWS; i++)
            c->to[i] = c->cost[i] / c->weight[i];
    return 50 * ROWS;
}

static HOT uint64_t share_shifted(void *argument)
{
    struct costs *c = argument;
    for (unsigned turn = 0; turn < 50; turn++)
        for (unsigned i = 0; i < ROWS; i++)
            c->to[i] = c->cost[i] >> (c->weight[i] & 63);
    return 50 * ROWS;
}

int main(int argc, char **argv)
{
    static struct costs c;
    uint64_t seed = 88172645463325252;
    for (unsigned i = 0; i < ROWS; i++)
        c.cost[i] = next_random(&seed), c.weight[i] = (next_random(&seed) & 0xfffff) + 3;
    return run_kernel("share_costs", argc, argv, variant(argc, argv) ? share_shifted : share, &c);
}
