/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds arrays whose starts are a multiple of 4 KB apart, shifted by a few elements: each load meets a young
 * store with the same low twelve address bits. Variant: the arrays 2 KB further apart. */
#include "kernel.h"

struct arrays {
    const uint64_t *from;
    uint64_t *to;
};

static HOT uint64_t shift_add(void *argument)
{
    struct arrays *a = argument;
    const uint64_t *from = a->from;
    uint64_t *to = a->to;
    for (unsigned turn = 0; turn < 400; turn++)
        for (unsigned i = 0; i < 248; i++)
            ((volatile uint64_t *)to)[i + 2] = ((const volatile uint64_t *)from)[i] + turn;
    return 400 * 248;
}

int main(int argc, char **argv)
{
    char *base = memory(1 << 20, 1);
    struct arrays a = {(uint64_t *)base, (uint64_t *)(base + 8192 - 16 + (variant(argc, argv) ? 2048 : 0))};
    return run_kernel("alias_4k", argc, argv, shift_add, &a);
}
