/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes invoices: a price from a large table, a division by the customer's unit, and a branch by the kind of customer.
 * Most of the time is the table's. Variant: a small table. */
#include "../kernels/kernel.h"

#define INVOICES 50000u

struct invoices {
    uint64_t *price, mask;
    uint32_t *article, *unit;
    uint8_t *kind;
    uint64_t sum[2];
};

static HOT uint64_t write_invoices(void *argument)
{
    struct invoices *v = argument;
    uint64_t last = 1;
    for (unsigned i = 0; i < INVOICES; i++) {
        uint64_t price = v->price[(v->article[i] + (last & 1)) & v->mask];
        uint64_t each = (price + last) * 0x9e3779b97f4a7c15u;
        each /= v->unit[i];
        if (v->kind[i]) {
            v->sum[0] += each;
            __asm__ volatile("" ::: "memory");
        } else
            v->sum[1] ^= each;
        last = each;
    }
    return INVOICES;
}

int main(int argc, char **argv)
{
    struct invoices v = {.mask = variant(argc, argv) ? 1023 : (1 << 18) - 1};
    uint64_t seed = 12;
    v.price = memory((v.mask + 1) * 8, 1);
    v.article = malloc(INVOICES * 4), v.unit = malloc(INVOICES * 4), v.kind = malloc(INVOICES);
    for (uint64_t i = 0; i <= v.mask; i++)
        v.price[i] = next_random(&seed);
    for (unsigned i = 0; i < INVOICES; i++) {
        v.article[i] = (uint32_t)next_random(&seed);
        v.unit[i] = (uint32_t)(3 + next_random(&seed) % 60000);
        v.kind[i] = next_random(&seed) >> 20 & 1;
    }
    return run_kernel("mixed_invoice", argc, argv, write_invoices, &v);
}
