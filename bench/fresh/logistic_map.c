/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Iterates the logistic map in extended precision (x87). Variant: four maps side by side. */
#include "../kernels/kernel.h"

struct maps {
    long double rate, at[4];
};

static HOT uint64_t iterate(void *argument)
{
    struct maps *m = argument;
    long double x = m->at[0], rate = m->rate;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++)
        x = rate * x * (1 - x);
    m->at[0] = x;
    return ITERATIONS_A_CALL;
}

static HOT uint64_t iterate_four(void *argument)
{
    struct maps *m = argument;
    long double a = m->at[0], b = m->at[1], c = m->at[2], d = m->at[3], rate = m->rate;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i += 4) {
        a = rate * a * (1 - a);
        b = rate * b * (1 - b);
        c = rate * c * (1 - c);
        d = rate * d * (1 - d);
    }
    m->at[0] = a, m->at[1] = b, m->at[2] = c, m->at[3] = d;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static struct maps m = {3.7L, {0.1L, 0.2L, 0.3L, 0.4L}};
    return run_kernel("logistic_map", argc, argv, variant(argc, argv) ? iterate_four : iterate, &m);
}
