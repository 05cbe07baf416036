/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trails of ants evaporate by a tenth a step. Where no ant has been for long, numbers are denormal, and rounding keeps them
 * from becoming zero. Variant 1: those trails are zero from the beginning. */
#include "../kernels/kernel.h"

enum { FIELDS = 2048 };

struct hill {
    float trails[FIELDS];
    double sum;
};

HOT static float evaporate(float *trails)
{
    float strongest = 0;
    for (int i = 0; i < FIELDS; i++) {
        float t = trails[i] * 0.9f;
        trails[i] = t;
        strongest = t > strongest ? t : strongest;
    }
    return strongest;
}

static uint64_t turn(void *argument)
{
    struct hill *h = argument;
    for (int i = 0; i < 20; i++)
        h->sum += (double)evaporate(h->trails);
    return 20 * FIELDS;
}

int main(int argc, char **argv)
{
    static struct hill h;
    for (int i = 0; i < FIELDS; i++)
        h.trails[i] = variant(argc, argv) ? 0 : (float)(i % 5 + 1) * 1.4e-45f;
    int status = run_kernel("ant_trails", argc, argv, turn, &h);
    printf("result=%.3f\n", h.sum);
    return status;
}
