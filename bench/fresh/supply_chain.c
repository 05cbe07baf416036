/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up what a product costs along its chain of suppliers: two million records of a line each, 128 MB on small pages. The next
 * supplier's record is anywhere. Variant 1: the records lie in the order of the chain. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

enum { SUPPLIERS = 1 << 21, HOPS = 20000 };

struct supplier {
    const struct supplier *next;
    uint32_t cost;
    char address[52];
};

struct chain {
    const struct supplier *at;
    uint64_t cost;
};

HOT static const struct supplier *add_costs(const struct supplier *s, uint64_t *cost)
{
    uint64_t sum = 0;
    for (int i = 0; i < HOPS; i++) {
        sum += s->cost;
        s = s->next;
    }
    *cost += sum;
    return s;
}

static uint64_t turn(void *argument)
{
    struct chain *c = argument;
    c->at = add_costs(c->at, &c->cost);
    return HOPS;
}

int main(int argc, char **argv)
{
    static struct chain c;
    uint64_t seed = 8713409823740987431u;
    struct supplier *suppliers = memory(SUPPLIERS * sizeof *suppliers, 0);
    uint32_t *order = malloc(SUPPLIERS * sizeof *order);
    if (!order)
        return 1;
    for (uint32_t i = 0; i < SUPPLIERS; i++)
        order[i] = i;
    for (uint32_t i = SUPPLIERS - 1; i > 0 && !variant(argc, argv); i--) {
        uint32_t other = (uint32_t)((next_random(&seed) >> 20) % (i + 1)), t = order[i];
        order[i] = order[other];
        order[other] = t;
    }
    for (uint32_t i = 0; i < SUPPLIERS; i++) {
        suppliers[order[i]].next = suppliers + order[(i + 1) % SUPPLIERS];
        suppliers[order[i]].cost = i * 2654435761u >> 12;
    }
    c.at = suppliers + order[0];
    free(order);
    int status = run_kernel("supply_chain", argc, argv, turn, &c);
    printf("result=%llu\n", (unsigned long long)c.cost);
    return status;
}
