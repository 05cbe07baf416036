/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine of one accumulator that lives in memory, as an interpreter's variables do: each step loads what
 * the step before stored. The registers' dependencies are short. Variant: the accumulator stays in a
 * register. */
#include "kernel.h"

struct machine {
    uint64_t variables[64];
    uint8_t code[4096];
};

static HOT uint64_t run_in_memory(void *argument)
{
    struct machine *m = argument;
    volatile uint64_t *variables = m->variables;
    for (unsigned turn = 0; turn < 16; turn++)
        for (unsigned i = 0; i < sizeof m->code; i++)
            variables[m->code[i] & 1] += m->code[i];
    return 16 * sizeof m->code;
}

static HOT uint64_t run_in_register(void *argument)
{
    struct machine *m = argument;
    uint64_t sums[2] = {0};
    for (unsigned turn = 0; turn < 16; turn++)
        for (unsigned i = 0; i < sizeof m->code; i++) {
            uint64_t odd = m->code[i] & 1, add = m->code[i];
            sums[0] += add & (odd - 1);
            sums[1] += add & -odd;
        }
    m->variables[0] += sums[0];
    m->variables[1] += sums[1];
    return 16 * sizeof m->code;
}

int main(int argc, char **argv)
{
    static struct machine m;
    uint64_t seed = 88172645463325252;
    for (unsigned i = 0; i < sizeof m.code; i++)
        m.code[i] = (uint8_t)next_random(&seed);
    return run_kernel("through_memory", argc, argv, variant(argc, argv) ? run_in_register : run_in_memory,
                      &m);
}
