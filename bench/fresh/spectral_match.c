/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares each pixel of a satellite's picture with the spectrum of water: 64 bands, and the plane of each band has 4 KB.
 * A pixel's 64 values are in the same set of the cache. Variant 1: a plane has another line at its end. */
#include "../kernels/kernel.h"

enum { BANDS = 64, PIXELS = 1024, PLANE = PIXELS, LINE = 16 };

struct scene {
    int32_t *planes;
    size_t pitch;
    int32_t water[BANDS];
    uint64_t likeness[PIXELS];
};

HOT static void match(struct scene *s)
{
    for (size_t i = 0; i < PIXELS; i++) {
        const int32_t *p = s->planes + i;
        uint32_t a = 0, b = 0;
        for (size_t k = 0; k < BANDS; k += 2) {
            a += (uint32_t)(p[k * s->pitch] ^ s->water[k]);
            b += (uint32_t)(p[(k + 1) * s->pitch] ^ s->water[k + 1]);
        }
        s->likeness[i] += a + b;
    }
}

static uint64_t turn(void *argument)
{
    struct scene *s = argument;
    match(s);
    return PIXELS * BANDS;
}

int main(int argc, char **argv)
{
    static struct scene s;
    uint64_t sum = 0;
    s.pitch = PLANE + (variant(argc, argv) ? LINE : 0);
    s.planes = memory(BANDS * (PLANE + LINE) * sizeof *s.planes, 1);
    for (size_t k = 0; k < BANDS; k++) {
        s.water[k] = (int32_t)(k * 37 % 255);
        for (size_t i = 0; i < PIXELS; i++)
            s.planes[k * s.pitch + i] = (int32_t)((i * 11 + k * 7) % 255);
    }
    int status = run_kernel("spectral_match", argc, argv, turn, &s);
    for (int i = 0; i < PIXELS; i++)
        sum += s.likeness[i];
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
