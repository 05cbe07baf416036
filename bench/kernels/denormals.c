/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recursive filter whose signal has died away: its state is denormal from then on. Variant: the signal
 * lives. */
#include "kernel.h"

struct filter {
    double gain, state[8];
};

static HOT uint64_t filter_silence(void *argument)
{
    struct filter *f = argument;
    double gain = f->gain;
    for (unsigned turn = 0; turn < 4000; turn++)
        for (unsigned i = 0; i < 8; i++) {
            volatile double *s = &f->state[i];
            *s = *s * gain + *s * (1 - gain);
        }
    return 4000 * 8;
}

int main(int argc, char **argv)
{
    static struct filter f;
    f.gain = 0.75;
    for (unsigned i = 0; i < 8; i++)
        f.state[i] = variant(argc, argv) ? 1.5 + i : 4e-310 * (i + 1);
    return run_kernel("denormals", argc, argv, filter_silence, &f);
}
