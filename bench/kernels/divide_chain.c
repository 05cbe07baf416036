/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recurrence of divisions: each needs the quotient of the one before. Variant: multiplications. */
#include "kernel.h"

static HOT uint64_t reduce(void *argument)
{
    uint64_t *state = argument, x = *state;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++)
        x = 0xfedcba9876543210u / (x | 0x10001) + i;
    *state = x;
    return ITERATIONS_A_CALL;
}

static HOT uint64_t multiply(void *argument)
{
    uint64_t *state = argument, x = *state;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++)
        x = 0xfedcba9876543210u * (x | 0x10001) + i;
    *state = x;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    uint64_t x = 12345;
    return run_kernel("divide_chain", argc, argv, variant(argc, argv) ? multiply : reduce, &x) + (x == 1);
}
