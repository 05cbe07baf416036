/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mutations in a simulated population: one draw of a generator of 64 bits for each gene, which changes if the draw lies
 * below a rate. Variant 1: four generators take turns. */
#include "../kernels/kernel.h"

enum { GENES = 1 << 16 };

struct population {
    uint64_t seed[4], rate;
    volatile uint64_t changed;
    int four;
};

HOT static uint64_t count_changed(uint64_t *seed, uint64_t rate)
{
    uint64_t changed = 0, state = *seed;
    for (int i = 0; i < GENES; i++)
        changed += next_random(&state) < rate;
    *seed = state;
    return changed;
}

HOT static uint64_t count_by_four(uint64_t *seed, uint64_t rate)
{
    uint64_t changed = 0, a = seed[0], b = seed[1], c = seed[2], d = seed[3];
    for (int i = 0; i < GENES; i += 4) {
        changed += next_random(&a) < rate;
        changed += next_random(&b) < rate;
        changed += next_random(&c) < rate;
        changed += next_random(&d) < rate;
    }
    seed[0] = a, seed[1] = b, seed[2] = c, seed[3] = d;
    return changed;
}

static uint64_t turn(void *argument)
{
    struct population *p = argument;
    p->changed += (p->four ? count_by_four : count_changed)(p->seed, p->rate);
    return GENES;
}

int main(int argc, char **argv)
{
    static struct population p = {.seed = {88172645463325252u, 521288629u, 362436069u, 2463534242u}};
    p.rate = UINT64_MAX / 300;
    p.four = variant(argc, argv);
    return run_kernel("gene_drift", argc, argv, turn, &p);
}
