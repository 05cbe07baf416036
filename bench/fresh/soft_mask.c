/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Multiplies pixels by a mask whose values are too small for normal numbers. Variant: a mask of larger values. */
#include "../kernels/kernel.h"

enum { PIXELS = 2048 };

struct image {
    float pixels[PIXELS], mask[PIXELS], to[PIXELS];
};

static HOT uint64_t apply_mask(void *argument)
{
    struct image *m = argument;
    for (unsigned turn = 0; turn < 20; turn++)
        for (unsigned i = 0; i < PIXELS; i++)
            m->to[i] = m->pixels[i] * m->mask[i] + m->pixels[i];
    return 20 * PIXELS;
}

int main(int argc, char **argv)
{
    static struct image m;
    for (unsigned i = 0; i < PIXELS; i++)
        m.pixels[i] = (float)(i % 255) / 255,
        m.mask[i] = variant(argc, argv) ? 0.25f : 1e-40f * (float)(i % 9 + 1);
    return run_kernel("soft_mask", argc, argv, apply_mask, &m);
}
