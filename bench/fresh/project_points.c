/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A software renderer projects points onto the screen: two divisions by the depth a point.
 * Variant 1: multiplies by what stands in the place of the depth. */
#include "../kernels/kernel.h"

enum { POINTS = 800 };

struct point {
    double x, y, z;
};

struct scene {
    struct point *points;
    double *screen;
    int multiply;
};

HOT static void project(const struct point *p, double *screen, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        screen[2 * i] = 320 + p[i].x / p[i].z;
        screen[2 * i + 1] = 240 + p[i].y / p[i].z;
    }
}

HOT static void project_inverse(const struct point *p, double *screen, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        screen[2 * i] = 320 + p[i].x * p[i].z;
        screen[2 * i + 1] = 240 + p[i].y * p[i].z;
    }
}

static uint64_t turn(void *argument)
{
    struct scene *s = argument;
    for (int i = 0; i < 64; i++)
        (s->multiply ? project_inverse : project)(s->points, s->screen, POINTS);
    return POINTS * 64;
}

int main(int argc, char **argv)
{
    uint64_t seed = 0x1234567887654321u;
    struct scene s = {memory(POINTS * sizeof(struct point), 0), memory(POINTS * 16, 0), variant(argc, argv)};
    for (size_t i = 0; i < POINTS; i++)
        s.points[i] = (struct point){(double)(next_random(&seed) >> 50), (double)(next_random(&seed) >> 50),
                                     1 + (double)(next_random(&seed) >> 40) / 1e6};
    return run_kernel("project_points", argc, argv, turn, &s);
}
