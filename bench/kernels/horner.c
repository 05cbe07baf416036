/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A polynomial of degree 63 by Horner's rule: a multiplication and an addition that need the ones before.
 * Variant: four points at once. */
#include "kernel.h"

enum { DEGREE = 63, POINTS = 64 };

struct polynomial {
    double coefficient[DEGREE + 1], x[POINTS], y[POINTS];
};

static HOT uint64_t evaluate(void *argument)
{
    struct polynomial *p = argument;
    for (unsigned turn = 0; turn < 16; turn++)
        for (unsigned k = 0; k < POINTS; k++) {
            double x = p->x[k], y = p->coefficient[DEGREE];
            for (int i = DEGREE - 1; i >= 0; i--)
                y = y * x + p->coefficient[i];
            p->y[k] = y;
        }
    return 16 * POINTS * DEGREE;
}

static HOT uint64_t evaluate_four(void *argument)
{
    struct polynomial *p = argument;
    for (unsigned turn = 0; turn < 16; turn++)
        for (unsigned k = 0; k < POINTS; k += 4) {
            double a = 1, b = 1, c = 1, d = 1;
            for (int i = DEGREE - 1; i >= 0; i--) {
                double next = p->coefficient[i];
                a = a * p->x[k] + next, b = b * p->x[k + 1] + next;
                c = c * p->x[k + 2] + next, d = d * p->x[k + 3] + next;
            }
            p->y[k] = a, p->y[k + 1] = b, p->y[k + 2] = c, p->y[k + 3] = d;
        }
    return 16 * POINTS * DEGREE;
}

int main(int argc, char **argv)
{
    static struct polynomial p;
    for (unsigned i = 0; i <= DEGREE; i++)
        p.coefficient[i] = 1.0 / (i + 1), p.x[i % POINTS] = 0.5 + i * 0.001;
    return run_kernel("horner", argc, argv, variant(argc, argv) ? evaluate_four : evaluate, &p);
}
