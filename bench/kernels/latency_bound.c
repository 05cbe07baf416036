/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sum of an array of doubles in the order in which the standard wants it: one chain of additions.
 * Variant: four chains. */
#include "kernel.h"

enum { N = 2000 };

static HOT uint64_t sum_in_order(void *argument)
{
    double *v = argument, sum = v[N];
    for (unsigned turn = 0; turn < 100; turn++)
        for (unsigned i = 0; i < N; i++)
            sum += v[i];
    v[N] = sum;
    return 100 * N;
}

static HOT uint64_t sum_by_four(void *argument)
{
    double *v = argument, a = v[N], b = 0, c = 0, d = 0;
    for (unsigned turn = 0; turn < 100; turn++)
        for (unsigned i = 0; i < N; i += 4)
            a += v[i], b += v[i + 1], c += v[i + 2], d += v[i + 3];
    v[N] = a + b + c + d;
    return 100 * N;
}

int main(int argc, char **argv)
{
    static double v[N + 1];
    for (unsigned i = 0; i < N; i++)
        v[i] = 1.0 / (i + 1);
    return run_kernel("latency_bound", argc, argv, variant(argc, argv) ? sum_by_four : sum_in_order, v);
}
