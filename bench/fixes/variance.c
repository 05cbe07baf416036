/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mean and variance of a column of numbers, as the standard wants the additions: one after the other. Fixed:
 * four partial sums. */
#include "../kernels/kernel.h"

enum { N = 2048 };

struct column {
    double values[N], mean, variance;
};

static HOT uint64_t describe(void *argument)
{
    struct column *c = argument;
    for (unsigned turn = 0; turn < 50; turn++) {
        double sum = 0;
        for (unsigned i = 0; i < N; i++)
            sum += (c->values[i] - c->mean) * (c->values[i] - c->mean);
        c->variance += sum / N;
    }
    return 50 * N;
}

static HOT uint64_t describe_by_four(void *argument)
{
    struct column *c = argument;
    for (unsigned turn = 0; turn < 50; turn++) {
        double sum[4] = {0};
        for (unsigned i = 0; i < N; i += 4) {
            double a = c->values[i] - c->mean, b = c->values[i + 1] - c->mean;
            double d = c->values[i + 2] - c->mean, e = c->values[i + 3] - c->mean;
            sum[0] += a * a, sum[1] += b * b, sum[2] += d * d, sum[3] += e * e;
        }
        c->variance += (sum[0] + sum[1] + sum[2] + sum[3]) / N;
    }
    return 50 * N;
}

int main(int argc, char **argv)
{
    static struct column c = {.mean = 0.001};
    for (unsigned i = 0; i < N; i++)
        c.values[i] = 1.0 / (i + 1);
    return run_kernel("variance", argc, argv, variant(argc, argv) ? describe_by_four : describe, &c);
}
