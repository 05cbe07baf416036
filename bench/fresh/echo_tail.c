/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The feedback of an echo after the sound has ended: the delay line holds ever smaller numbers, which rounding
 * keeps from becoming zero. Variant: sound comes in. */
#include "../kernels/kernel.h"

enum { FRAMES = 512 };

struct echo {
    double line[FRAMES], in[FRAMES], feedback;
};

static HOT uint64_t feed_back(void *argument)
{
    struct echo *e = argument;
    double feedback = e->feedback;
    for (unsigned turn = 0; turn < 20; turn++)
        for (unsigned i = 0; i < FRAMES; i++)
            e->line[i] = e->line[i] * feedback + e->in[i];
    return 20 * FRAMES;
}

int main(int argc, char **argv)
{
    static struct echo e = {.feedback = 0.9};
    for (unsigned i = 0; i < FRAMES; i++)
        e.line[i] = 4e-310, e.in[i] = variant(argc, argv) ? 0.5 : 0;
    return run_kernel("echo_tail", argc, argv, feed_back, &e);
}
