/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up open orders of a linked list whose nodes were allocated over a long time, in no order: 96 MB.
 * Variant: the same list, its nodes one after another in memory. */
#include "../kernels/kernel.h"

#define ORDERS 1500000

struct order {
    struct order *next;
    uint32_t customer, pieces;
    uint64_t price;
    char note[40];
};

struct book {
    struct order *first, *at;
    uint64_t worth;
};

static HOT uint64_t sum_orders(void *argument)
{
    struct book *b = argument;
    struct order *o = b->at;
    uint64_t worth = 0;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        worth += o->pieces * o->price;
        o = o->next ? o->next : b->first;
    }
    b->at = o, b->worth += worth;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    struct order *orders = memory(ORDERS * sizeof *orders, 0);
    uint32_t *place = malloc(ORDERS * sizeof *place);
    uint64_t seed = 4711;
    for (uint32_t i = 0; i < ORDERS; i++)
        place[i] = i;
    for (uint32_t i = ORDERS - 1; i > 0 && !variant(argc, argv); i--) {
        uint32_t j = (uint32_t)(next_random(&seed) % (i + 1)), p = place[i];
        place[i] = place[j], place[j] = p;
    }
    for (uint32_t i = 0; i < ORDERS; i++)
        orders[place[i]] =
            (struct order){i + 1 < ORDERS ? &orders[place[i + 1]] : NULL, i, i % 7, i % 100, {0}};
    struct book b = {&orders[place[0]], &orders[place[0]], 0};
    return run_kernel("order_list", argc, argv, sum_orders, &b);
}
