/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A frame of sound: a filter in a chain, an echo of denormal numbers, a limiter that divides. No cause has more
 * than half of the time. Variants 1 to 3 remove the chain, the denormal numbers and the divisions. */
#include "../kernels/kernel.h"

enum { FRAMES = 2048, TAIL = 160, LIMITED = 2000 };

struct audio {
    double in[FRAMES], out[FRAMES], gain[FRAMES], tail[TAIL], state[4], feedback, feed;
    int side_by_side, no_division;
};

static HOT uint64_t render(void *argument)
{
    struct audio *a = argument;
    double w = a->state[0], x = a->state[1], y = a->state[2], z = a->state[3];
    if (a->side_by_side)
        for (unsigned i = 0; i < FRAMES; i += 4) {
            a->out[i] = w += 0.25 * (a->in[i] - w), a->out[i + 1] = x += 0.25 * (a->in[i + 1] - x);
            a->out[i + 2] = y += 0.25 * (a->in[i + 2] - y), a->out[i + 3] = z += 0.25 * (a->in[i + 3] - z);
        }
    else
        for (unsigned i = 0; i < FRAMES; i++)
            a->out[i] = w += 0.25 * (a->in[i] - w);
    a->state[0] = w, a->state[1] = x, a->state[2] = y, a->state[3] = z;
    for (unsigned i = 0; i < TAIL; i++)
        a->tail[i] = a->tail[i] * a->feedback + a->feed;
    if (a->no_division)
        for (unsigned i = 0; i < LIMITED; i++)
            a->out[i] = a->out[i] * (1 + a->gain[i]);
    else
        for (unsigned i = 0; i < LIMITED; i++)
            a->out[i] = a->out[i] / __builtin_sqrt(1 + a->gain[i]);
    return FRAMES;
}

int main(int argc, char **argv)
{
    static struct audio a = {.feedback = 0.9};
    int without = variant(argc, argv);
    a.side_by_side = without == 1, a.no_division = without == 3;
    for (unsigned i = 0; i < TAIL; i++)
        a.tail[i] = 4e-310;
    a.feed = without == 2 ? 0.5 : 0;
    for (unsigned i = 0; i < FRAMES; i++)
        a.in[i] = i % 7, a.gain[i] = i % 5;
    return run_kernel("mixed_audio", argc, argv, render, &a);
}
