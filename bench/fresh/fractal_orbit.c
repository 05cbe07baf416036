/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows points of a fractal for 256 steps, each of which needs the one before. Variant 1: four points in
 * step. */
#include "../kernels/kernel.h"

enum { POINTS = 256, STEPS = 256 };

struct fractal {
    double c[POINTS][2], end[POINTS];
    int four;
};

#define START(k) double r##k = 0, i##k = 0, a##k = c[p + k][0], b##k = c[p + k][1]
#define STEP(k)                                                                                              \
    do {                                                                                                     \
        double real = r##k * r##k - i##k * i##k + a##k, twice = 2 * r##k * i##k + b##k;                      \
        r##k = real, i##k = twice;                                                                           \
    } while (0)

HOT static void follow(struct fractal *f, int four)
{
    const double(*c)[2] = (const double(*)[2])f->c;
    if (!four) {
        for (int p = 0; p < POINTS; p++) {
            START(0);
            for (int s = 0; s < STEPS; s++)
                STEP(0);
            f->end[p] = r0 + i0;
        }
        return;
    }
    for (int p = 0; p < POINTS; p += 4) {
        START(0);
        START(1);
        START(2);
        START(3);
        for (int s = 0; s < STEPS; s++) {
            STEP(0);
            STEP(1);
            STEP(2);
            STEP(3);
        }
        f->end[p] = r0 + i0, f->end[p + 1] = r1 + i1, f->end[p + 2] = r2 + i2, f->end[p + 3] = r3 + i3;
    }
}

static uint64_t turn(void *argument)
{
    struct fractal *f = argument;
    follow(f, f->four);
    return POINTS * STEPS;
}

int main(int argc, char **argv)
{
    static struct fractal f;
    uint64_t seed = 3935559000370003845u;
    double sum = 0;
    f.four = variant(argc, argv);
    for (int p = 0; p < POINTS; p++) {
        f.c[p][0] = (double)((next_random(&seed) >> 20) % 1000) / 4000 - 0.2;
        f.c[p][1] = (double)((next_random(&seed) >> 20) % 1000) / 4000 - 0.1;
    }
    int status = run_kernel("fractal_orbit", argc, argv, turn, &f);
    for (int p = 0; p < POINTS; p++)
        sum += f.end[p];
    printf("result=%.12f\n", sum);
    return status;
}
