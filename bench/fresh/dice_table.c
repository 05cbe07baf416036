/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Throws dice at four tables of a simulated casino, each with a generator of its own whose next state needs the one before:
 * table after table. Variant 1: all four at a time. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

enum { THROWS = 8192, TABLES = 4 };

struct casino {
    uint64_t states[TABLES], sums[TABLES];
    int together;
};

/* A die of eight sides, the first of which has none. */
static uint64_t throw_one(uint64_t *state)
{
    return next_random(state) >> 61;
}

HOT static uint64_t throw_dice(uint64_t *states, int table)
{
    uint64_t state = states[table], sum = 0;
    for (int i = 0; i < THROWS; i++)
        sum += throw_one(&state);
    states[table] = state;
    return sum;
}

HOT static void throw_together(struct casino *c)
{
    uint64_t a = c->states[0], b = c->states[1], d = c->states[2], e = c->states[3];
    uint64_t sums[TABLES] = {0};
    for (int i = 0; i < THROWS; i++) {
        sums[0] += throw_one(&a);
        sums[1] += throw_one(&b);
        sums[2] += throw_one(&d);
        sums[3] += throw_one(&e);
    }
    uint64_t states[] = {a, b, d, e};
    memcpy(c->states, states, sizeof states);
    for (int table = 0; table < TABLES; table++)
        c->sums[table] += sums[table];
}

static uint64_t turn(void *argument)
{
    struct casino *c = argument;
    for (int i = 0; i < 10; i++)
        if (c->together)
            throw_together(c);
        else
            for (int table = 0; table < TABLES; table++)
                c->sums[table] += throw_dice(c->states, table);
    return 10 * TABLES * THROWS;
}

int main(int argc, char **argv)
{
    static struct casino c = {.states = {88172645463325252u, 362436069u, 521288629u, 5783321u}};
    c.together = variant(argc, argv);
    int status = run_kernel("dice_table", argc, argv, turn, &c);
    printf("result=%llu %llu\n", (unsigned long long)c.sums[0], (unsigned long long)c.sums[3]);
    return status;
}
