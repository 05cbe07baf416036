/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads count in one counter, atomically. Variant: one each, on lines of their own, without atomics. */
#include "pair.h"

static HOT uint64_t count_shared(void *argument)
{
    uint64_t *counter = argument;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++)
        __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
    return ITERATIONS_A_CALL;
}

static HOT uint64_t count_alone(void *argument)
{
    volatile uint64_t *counter = argument;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++)
        *counter += 1;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static _Alignas(256) uint64_t counters[64];
    int alone = variant(argc, argv);
    return run_pair("shared_counter", argc, argv, alone ? count_alone : count_shared, counters,
                    counters + (alone ? 32 : 0));
}
