/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A checksum by a table of 1 MB: each step looks up what the step before found. The second level holds the table.
 * Variant: a table of 16 KB. */
#include "../kernels/kernel.h"

struct mixer {
    uint32_t *table, mask, state;
    uint8_t data[4096];
};

static HOT uint64_t mix(void *argument)
{
    struct mixer *m = argument;
    const uint32_t *table = m->table;
    uint32_t x = m->state, mask = m->mask;
    for (unsigned turn = 0; turn < 40; turn++)
        for (unsigned i = 0; i < sizeof m->data; i++)
            x = table[(x ^ m->data[i]) & mask];
    m->state = x;
    return 40 * sizeof m->data;
}

int main(int argc, char **argv)
{
    static struct mixer m;
    uint64_t seed = 88172645463325252;
    m.table = memory(1 << 20, 1);
    m.mask = variant(argc, argv) ? (1 << 12) - 1 : (1 << 18) - 1;
    for (unsigned i = 0; i < 1 << 18; i++)
        m.table[i] = (uint32_t)next_random(&seed);
    for (unsigned i = 0; i < sizeof m.data; i++)
        m.data[i] = (uint8_t)next_random(&seed);
    return run_kernel("mix_table", argc, argv, mix, &m);
}
