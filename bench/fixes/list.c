/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums what the elements of a list hold; the list was sorted after its elements were allocated, so that the
 * next is anywhere in 32 MB. Fixed: the elements are laid out in the order of the list. */
#include "../kernels/kernel.h"

enum { ELEMENTS = 1 << 20 };

struct element {
    struct element *next;
    uint64_t amount, account, flags;
};

struct ledger {
    struct element *first;
    uint64_t sum;
};

static HOT uint64_t sum_ledger(void *argument)
{
    struct ledger *l = argument;
    uint64_t sum = 0, n = 0;
    for (const struct element *e = l->first; e; e = e->next, n++)
        if (e->flags == 0)
            sum += e->amount;
    l->sum += sum;
    return n;
}

int main(int argc, char **argv)
{
    static struct ledger l;
    struct element *elements = memory((size_t)ELEMENTS * sizeof *elements, 1);
    uint32_t *order = malloc(ELEMENTS * sizeof *order);
    uint64_t seed = 88172645463325252;
    for (uint32_t i = 0; i < ELEMENTS; i++)
        order[i] = i;
    for (uint32_t i = ELEMENTS - 1; i > 0 && !variant(argc, argv); i--) {
        uint32_t j = (uint32_t)(next_random(&seed) % (i + 1)), t = order[i];
        order[i] = order[j], order[j] = t;
    }
    for (uint32_t i = 0; i < ELEMENTS; i++)
        elements[order[i]] = (struct element){i + 1 < ELEMENTS ? &elements[order[i + 1]] : NULL, i, i / 3, 0};
    l.first = &elements[order[0]];
    free(order);
    return run_kernel("list", argc, argv, sum_ledger, &l);
}
