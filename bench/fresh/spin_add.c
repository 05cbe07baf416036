/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads add to a table under one spinning lock. Variant: a table and a lock for each. */
#include "pair.h"

#include <sched.h>

struct table {
    _Alignas(128) int taken;
    _Alignas(128) uint64_t at[64];
};

static HOT uint64_t add_locked(void *argument)
{
    struct table *t = argument;
    for (unsigned i = 0; i < ITERATIONS_A_CALL / 10; i++) {
        unsigned tries = 0;
        while (__atomic_exchange_n(&t->taken, 1, __ATOMIC_ACQUIRE))
            if (++tries % 1000 == 0)
                sched_yield();
        t->at[i % 64] += i;
        t->at[i / 64 % 64] ^= i;
        __atomic_store_n(&t->taken, 0, __ATOMIC_RELEASE);
    }
    return ITERATIONS_A_CALL / 10;
}

int main(int argc, char **argv)
{
    static struct table tables[2];
    return run_pair("spin_add", argc, argv, add_locked, &tables[0], &tables[variant(argc, argv) ? 1 : 0]);
}
