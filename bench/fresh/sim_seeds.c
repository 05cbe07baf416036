/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads of a simulation roll dice. The generators lie in one array, one element a thread. Variant 1: a line and
 * more between them. */
#include "pair.h"

struct generator {
    uint64_t state, rolled;
};

HOT static uint64_t roll(void *argument)
{
    volatile struct generator *g = argument;
    for (int i = 0; i < ITERATIONS_A_CALL; i++) {
        g->state = g->state * 6364136223846793005u + 1442695040888963407u;
        g->rolled += (g->state >> 33) * 6 >> 31;
    }
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static _Alignas(256) struct generator generators[32];
    struct generator *second = &generators[variant(argc, argv) ? 16 : 1];
    generators[0].state = 1, second->state = 2;
    return run_pair("sim_seeds", argc, argv, roll, generators, second);
}
