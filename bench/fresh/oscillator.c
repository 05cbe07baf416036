/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a wave table at a phase that is wrapped by conversion to an integer and back, for each sample. Variant: the
 * phase is an integer that wraps by itself. */
#include "../kernels/kernel.h"

struct voice {
    float table[1024], out[1024];
    double phase, step;
    uint32_t turn, turn_step;
    int whole;
};

static HOT uint64_t play(void *argument)
{
    struct voice *v = argument;
    for (unsigned block = 0; block < 100; block++) {
        if (v->whole) {
            uint32_t turn = v->turn;
            for (unsigned i = 0; i < 1024; i++) {
                v->out[i] = v->table[turn >> 22];
                turn += v->turn_step;
            }
            v->turn = turn;
        } else {
            double phase = v->phase;
            for (unsigned i = 0; i < 1024; i++) {
                v->out[i] = v->table[(int)(phase * 1024)];
                phase += v->step;
                phase -= (int)phase;
            }
            v->phase = phase;
        }
    }
    return 100 * 1024;
}

int main(int argc, char **argv)
{
    static struct voice v;
    v.step = 0.0123, v.turn_step = 52828097;
    v.whole = variant(argc, argv);
    return run_kernel("oscillator", argc, argv, play, &v);
}
