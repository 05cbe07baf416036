/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the grey levels of a picture that is mostly sky: one counter is incremented again and again, through memory.
 * Variant: four tables of counters in turn, added up in the end. */
#include "../kernels/kernel.h"

#define PIXELS 32768u

struct picture {
    uint8_t *pixel;
    uint32_t count[4][256];
    int tables;
};

static HOT uint64_t tally(void *argument)
{
    struct picture *p = argument;
    const uint8_t *pixel = p->pixel;
    for (unsigned turn = 0; turn < 6; turn++) {
        if (p->tables)
            for (unsigned i = 0; i < PIXELS; i += 4) {
                p->count[0][pixel[i]]++;
                p->count[1][pixel[i + 1]]++;
                p->count[2][pixel[i + 2]]++;
                p->count[3][pixel[i + 3]]++;
            }
        else
            for (unsigned i = 0; i < PIXELS; i++)
                p->count[0][pixel[i]]++;
    }
    return 6 * PIXELS;
}

int main(int argc, char **argv)
{
    static struct picture p;
    uint64_t seed = 8;
    p.pixel = malloc(PIXELS);
    p.tables = variant(argc, argv);
    for (unsigned i = 0; i < PIXELS; i++)
        p.pixel[i] = i / 64 % 10 ? 250 : (uint8_t)next_random(&seed);
    return run_kernel("flat_image", argc, argv, tally, &p);
}
