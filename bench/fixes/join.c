/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hash join: orders are joined to the customers who gave them through an open-addressing table of 64 MB,
 * and amounts are summed by region. Fixed: the slot of the order sixteen further on is prefetched. */
#include "../kernels/kernel.h"

enum { CUSTOMERS = 2 << 20, SLOTS = 4 << 20, ORDERS = 1 << 20, AHEAD = 16 };

struct customer {
    uint64_t number;
    uint32_t region, used;
};

struct shop {
    struct customer *slots;
    uint32_t *orders; /* customer numbers */
    uint64_t sums[64];
    int fixed;
};

static inline uint32_t slot_of(uint64_t number)
{
    return (uint32_t)(number * 0x9e3779b97f4a7c15u >> 42);
}

static HOT uint64_t join_orders(void *argument)
{
    struct shop *s = argument;
    for (uint32_t i = 0; i < ORDERS; i++) {
        uint32_t at = slot_of(s->orders[i]);
        while (s->slots[at].number != s->orders[i])
            at = (at + 1) & (SLOTS - 1);
        s->sums[s->slots[at].region & 63] += i;
    }
    return ORDERS;
}

static HOT uint64_t join_ahead(void *argument)
{
    struct shop *s = argument;
    for (uint32_t i = 0; i < ORDERS; i++) {
        __builtin_prefetch(&s->slots[slot_of(s->orders[i + AHEAD])]);
        uint32_t at = slot_of(s->orders[i]);
        while (s->slots[at].number != s->orders[i])
            at = (at + 1) & (SLOTS - 1);
        s->sums[s->slots[at].region & 63] += i;
    }
    return ORDERS;
}

int main(int argc, char **argv)
{
    static struct shop s;
    uint64_t seed = 88172645463325252;
    s.slots = memory((size_t)SLOTS * sizeof *s.slots, 1);
    s.orders = memory((ORDERS + AHEAD) * sizeof *s.orders, 1);
    for (size_t i = 0; i < SLOTS; i++)
        s.slots[i].number = 0, s.slots[i].used = 0;
    for (uint32_t i = 1; i <= CUSTOMERS; i++) {
        uint32_t at = slot_of(i);
        while (s.slots[at].used)
            at = (at + 1) & (SLOTS - 1);
        s.slots[at] = (struct customer){i, i % 50, 1};
    }
    for (uint32_t i = 0; i < ORDERS + AHEAD; i++)
        s.orders[i] = 1 + (uint32_t)(next_random(&seed) % CUSTOMERS);
    return run_kernel("join", argc, argv, variant(argc, argv) ? join_ahead : join_orders, &s);
}
