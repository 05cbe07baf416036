/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads publish each their newest value and read the other's. Variant: each reads one that nobody writes. The chain through
 * the load stays, which costs half of the time by itself. */
#include "pair.h"

struct feed {
    _Alignas(128) uint64_t newest;
    _Alignas(128) uint64_t *others;
    uint64_t value, sum;
    unsigned often;
};

static HOT uint64_t exchange_values(void *argument)
{
    struct feed *f = argument;
    const unsigned often = f->often;
    uint64_t value = f->value, sum = f->sum, *others = f->others;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        value = value * 5 + sum;
        if ((i & often) == 0) {
            sum ^= __atomic_load_n(others + (sum & often), __ATOMIC_RELAXED);
            __atomic_store_n(&f->newest, value, __ATOMIC_RELAXED);
        }
    }
    f->value = value;
    f->sum = sum;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static struct feed feeds[2], quiet[2];
    for (unsigned t = 0; t < 2; t++) {
        feeds[t].others = variant(argc, argv) ? &quiet[t].newest : &feeds[1 - t].newest;
        feeds[t].often = 0;
    }
    return run_pair("last_value", argc, argv, exchange_values, &feeds[0], &feeds[1]);
}
