/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Smooths the readings of a sensor by an exponential mean, one after another. Variant: four sensors at a time. */
#include "../kernels/kernel.h"

#define READINGS 2000u

struct sensors {
    double *reading, mean[4];
    int together;
};

static HOT uint64_t smooth(void *argument)
{
    struct sensors *s = argument;
    for (unsigned turn = 0; turn < 25; turn++) {
        if (s->together) {
            double a = s->mean[0], b = s->mean[1], c = s->mean[2], d = s->mean[3];
            for (unsigned i = 0; i < READINGS; i++) {
                a += 0.05 * (s->reading[i] - a);
                b += 0.05 * (s->reading[READINGS + i] - b);
                c += 0.05 * (s->reading[2 * READINGS + i] - c);
                d += 0.05 * (s->reading[3 * READINGS + i] - d);
            }
            s->mean[0] = a, s->mean[1] = b, s->mean[2] = c, s->mean[3] = d;
            continue;
        }
        for (unsigned sensor = 0; sensor < 4; sensor++) {
            double mean = s->mean[sensor];
            for (unsigned i = 0; i < READINGS; i++)
                mean += 0.05 * (s->reading[sensor * READINGS + i] - mean);
            s->mean[sensor] = mean;
        }
    }
    return 25 * 4 * READINGS;
}

int main(int argc, char **argv)
{
    struct sensors s = {.reading = malloc(4 * READINGS * sizeof(double)), .together = variant(argc, argv)};
    uint64_t seed = 3;
    for (unsigned i = 0; i < 4 * READINGS; i++)
        s.reading[i] = (double)(next_random(&seed) % 1000);
    return run_kernel("smooth_sensor", argc, argv, smooth, &s);
}
