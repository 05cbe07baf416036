/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Applies one of two discounts to each sale, by its amount. The amounts come in no order. Variant: sorted. */
#include "../kernels/kernel.h"

#define SALES 100000u

struct sales {
    uint32_t *amount;
    uint64_t large, small, kept;
};

static HOT uint64_t apply_discounts(void *argument)
{
    struct sales *s = argument;
    for (unsigned i = 0; i < SALES; i++) {
        uint32_t amount = s->amount[i];
        if (amount >= 5000) {
            s->large += amount - amount / 8;
            s->kept++;
        } else if (amount >= 2500)
            s->small += amount - amount / 16;
        else
            s->kept ^= amount;
    }
    return SALES;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct sales s = {memory(SALES * sizeof *s.amount, 0), 0, 0, 0};
    uint64_t seed = 1234;
    for (unsigned i = 0; i < SALES; i++)
        s.amount[i] = (uint32_t)(next_random(&seed) % 10000);
    if (variant(argc, argv))
        qsort(s.amount, SALES, sizeof *s.amount, ascending);
    return run_kernel("discounts", argc, argv, apply_discounts, &s);
}
