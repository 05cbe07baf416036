/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fades 1,000 voices that ended long ago: their volumes are so small that they are denormal. Variant: their volumes
 * are set to a small normal number. */
#include "../kernels/kernel.h"

#define VOICES 1000u

struct mixer {
    float volume[VOICES], out[VOICES], floor;
};

static HOT uint64_t fade(void *argument)
{
    struct mixer *m = argument;
    for (unsigned turn = 0; turn < 100; turn++)
        for (unsigned i = 0; i < VOICES; i++)
            m->out[i] = m->out[i] * 0.5f + m->volume[i] * 0.999f;
    return 100 * VOICES;
}

int main(int argc, char **argv)
{
    static struct mixer m;
    for (unsigned i = 0; i < VOICES; i++)
        m.volume[i] = variant(argc, argv) ? 1e-30f : 1e-40f;
    return run_kernel("fade_out", argc, argv, fade, &m);
}
