/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up the pull of 512 bodies on one another: a square root and a division for each pair. Variant: the
 * distances' inverses come from a table. */
#include "../kernels/kernel.h"

#include <math.h>

enum { BODIES = 512 };

struct bodies {
    double x[BODIES], y[BODIES], mass[BODIES], pull[BODIES], inverse[2048];
};

static HOT uint64_t attract(void *argument)
{
    struct bodies *b = argument;
    for (unsigned i = 0; i < 32; i++) {
        double sum = 0;
        for (unsigned j = 0; j < BODIES; j++) {
            double dx = b->x[j] - b->x[i], dy = b->y[j] - b->y[i], r = dx * dx + dy * dy + 0.01;
            sum += b->mass[j] * dx / (r * __builtin_sqrt(r));
        }
        b->pull[i] = sum;
    }
    return 32 * BODIES;
}

static HOT uint64_t attract_by_table(void *argument)
{
    struct bodies *b = argument;
    for (unsigned i = 0; i < 32; i++) {
        double sum = 0;
        for (unsigned j = 0; j < BODIES; j++) {
            double dx = b->x[j] - b->x[i], dy = b->y[j] - b->y[i], r = dx * dx + dy * dy + 0.01;
            sum += b->mass[j] * dx * b->inverse[(int)(r * 512) & 2047];
        }
        b->pull[i] = sum;
    }
    return 32 * BODIES;
}

int main(int argc, char **argv)
{
    static struct bodies b;
    uint64_t seed = 4108;
    for (unsigned i = 0; i < BODIES; i++) {
        b.x[i] = (double)(next_random(&seed) >> 40) / (1 << 24),
        b.y[i] = (double)(next_random(&seed) >> 40) / (1 << 24);
        b.mass[i] = 1 + i % 3;
    }
    for (unsigned i = 0; i < 2048; i++)
        b.inverse[i] = 1 / pow(i / 512.0 + 0.01, 1.5);
    return run_kernel("gravity", argc, argv, variant(argc, argv) ? attract_by_table : attract, &b);
}
