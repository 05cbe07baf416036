/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Brings vectors to length one: a square root and a division each. Variant: the lengths are known beforehand,
 * as reciprocals. */
#include "../kernels/kernel.h"

#include <math.h>

enum { VECTORS = 256 };

struct vectors {
    double x[VECTORS], y[VECTORS], inverse[VECTORS], to_x[VECTORS], to_y[VECTORS];
};

static HOT uint64_t normalise(void *argument)
{
    struct vectors *v = argument;
    for (unsigned turn = 0; turn < 100; turn++)
        for (unsigned i = 0; i < VECTORS; i++) {
            double inverse = 1 / __builtin_sqrt(v->x[i] * v->x[i] + v->y[i] * v->y[i]);
            v->to_x[i] = v->x[i] * inverse;
            v->to_y[i] = v->y[i] * inverse;
        }
    return 100 * VECTORS;
}

static HOT uint64_t normalise_known(void *argument)
{
    struct vectors *v = argument;
    for (unsigned turn = 0; turn < 100; turn++)
        for (unsigned i = 0; i < VECTORS; i++) {
            double inverse = v->inverse[i] * (v->x[i] * v->x[i] + v->y[i] * v->y[i]);
            v->to_x[i] = v->x[i] * inverse;
            v->to_y[i] = v->y[i] * inverse;
        }
    return 100 * VECTORS;
}

int main(int argc, char **argv)
{
    static struct vectors v;
    for (unsigned i = 0; i < VECTORS; i++)
        v.x[i] = i + 1, v.y[i] = 3 * i + 0.5, v.inverse[i] = 0.5;
    return run_kernel("normalise", argc, argv, variant(argc, argv) ? normalise_known : normalise, &v);
}
