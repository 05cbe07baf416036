/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heat spreads over a plate of 2,048 by 2,048 points, 32 MB before and 32 MB after the step. Variant 1: a plate of 8 by
 * 128 points, as many steps as make the same number of points. */
#include "../kernels/kernel.h"

enum { WIDE = 2048, SMALL = 128, LOW = 8 };

struct plate {
    double *now, *next;
    size_t rows, columns, steps;
};

HOT __attribute__((optimize("O3"))) static void step(double *restrict next, const double *restrict now,
                                                     size_t rows, size_t columns)
{
    for (size_t y = 1; y <= rows; y++) {
        const double *p = now + y * (columns + 2);
        double *q = next + y * (columns + 2);
        for (size_t x = 1; x <= columns; x++)
            q[x] = 0.25 * (p[x - 1] + p[x + 1] + p[x - columns - 2] + p[x + columns + 2]);
    }
}

static uint64_t turn(void *argument)
{
    struct plate *p = argument;
    for (size_t i = 0; i < p->steps; i++) {
        step(p->next, p->now, p->rows, p->columns);
        double *other = p->now;
        p->now = p->next, p->next = other;
    }
    return p->steps * p->rows * p->columns;
}

int main(int argc, char **argv)
{
    static struct plate p;
    p.columns = variant(argc, argv) ? SMALL : WIDE;
    p.rows = variant(argc, argv) ? LOW : WIDE;
    p.steps = WIDE * WIDE / (p.rows * p.columns);
    p.now = memory((p.rows + 2) * (p.columns + 2) * sizeof *p.now, 1);
    p.next = memory((p.rows + 3) * (p.columns + 2) * sizeof *p.next, 1);
    p.next += 256; /* not at the same place in a page as the other one */
    for (size_t i = 0; i < (p.rows + 2) * (p.columns + 2); i++)
        p.now[i] = p.next[i] = 20;
    int status = run_kernel("heat_step", argc, argv, turn, &p);
    printf("result=%.1f\n", p.now[3 * (p.columns + 2) + 3]);
    return status;
}
