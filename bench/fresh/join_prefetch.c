/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes a table of 256 MB on huge pages. A prefetch sixteen probes ahead is there already. Variant: a table of
 * 16 KB. */
#include "../kernels/kernel.h"

struct build {
    uint64_t *table;
    unsigned shift;
    uint64_t at, sum;
};

static HOT uint64_t probe(void *argument)
{
    struct build *b = argument;
    const uint64_t *table = b->table;
    uint64_t at = b->at, sum = b->sum;
    unsigned shift = b->shift;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++, at += 0x9e3779b97f4a7c15) {
        __builtin_prefetch(&table[(at + 16 * 0x9e3779b97f4a7c15) >> shift]);
        sum += table[at >> shift];
    }
    b->at = at, b->sum = sum;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    unsigned bits = variant(argc, argv) ? 11 : 25;
    struct build b = {memory((size_t)8 << bits, 1), 64 - bits, 1, 0};
    return run_kernel("join_prefetch", argc, argv, probe, &b);
}
