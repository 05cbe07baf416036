/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An equaliser: a filter of second order over a channel of sound, whose result goes into the next. Variant: four
 * channels at a time. */
#include "../kernels/kernel.h"

#define FRAMES 4096u

struct channel {
    float sound[FRAMES], y1, y2;
};

static HOT uint64_t equalise(void *argument)
{
    struct channel *channels = argument;
    for (struct channel *c = channels; c < channels + 4; c++) {
        float y1 = c->y1, y2 = c->y2;
        for (unsigned i = 0; i < FRAMES; i++) {
            float y = c->sound[i] * 0.2f + y1 * 0.9f - y2 * 0.3f;
            y2 = y1, y1 = y;
            c->sound[i] = y + 0.5f;
        }
        c->y1 = y1, c->y2 = y2;
    }
    return 4 * FRAMES;
}

static HOT uint64_t equalise_four(void *argument)
{
    struct channel *c = argument;
    float y1[4], y2[4];
    for (int k = 0; k < 4; k++)
        y1[k] = c[k].y1, y2[k] = c[k].y2;
    for (unsigned i = 0; i < FRAMES; i++)
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            float y = c[k].sound[i] * 0.2f + y1[k] * 0.9f - y2[k] * 0.3f;
            y2[k] = y1[k], y1[k] = y;
            c[k].sound[i] = y + 0.5f;
        }
    for (int k = 0; k < 4; k++)
        c[k].y1 = y1[k], c[k].y2 = y2[k];
    return 4 * FRAMES;
}

int main(int argc, char **argv)
{
    static struct channel channels[4];
    return run_kernel("biquad", argc, argv, variant(argc, argv) ? equalise_four : equalise, channels);
}
