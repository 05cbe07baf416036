/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A counter of events per class, made thread-safe by atomic additions although one thread runs. Variant:
 * plain ones. */
#include "kernel.h"

static HOT uint64_t count_atomically(void *argument)
{
    uint64_t *counts = argument;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++)
        __atomic_fetch_add(&counts[i * 7 & 63], i, __ATOMIC_SEQ_CST);
    return ITERATIONS_A_CALL;
}

static HOT uint64_t count_plainly(void *argument)
{
    volatile uint64_t *counts = argument;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++)
        counts[i * 7 & 63] += i;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static uint64_t counts[64];
    return run_kernel("lock_prefix", argc, argv, variant(argc, argv) ? count_plainly : count_atomically,
                      counts);
}
