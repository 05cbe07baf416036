/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An echo with three taps: the place of each in the delay line is a remainder of the line's length, which the user chose.
 * Variant 1: a place that is beyond the end is moved by the length. */
#include "../kernels/kernel.h"

enum { SAMPLES = 8192, LONGEST = 4096, TAPS = 3 };

struct echo {
    uint32_t length, head, late[TAPS];
    int wraps;
    float line[LONGEST], sound[SAMPLES], result[SAMPLES];
};

HOT static void play(struct echo *e)
{
    uint32_t head = e->head, length = e->length;
    for (int i = 0; i < SAMPLES; i++, head++) {
        float s = e->sound[i];
        for (int t = 0; t < TAPS; t++)
            s += e->line[(head + e->late[t]) % length];
        e->line[head % length] = e->sound[i];
        e->result[i] = s;
    }
    e->head = head % length;
}

static uint32_t wrap(uint32_t place, uint32_t length)
{
    return place - (place >= length ? length : 0);
}

HOT static void play_wrapped(struct echo *e)
{
    uint32_t head = e->head, length = e->length;
    for (int i = 0; i < SAMPLES; i++) {
        float s = e->sound[i];
        for (int t = 0; t < TAPS; t++)
            s += e->line[wrap(head + e->late[t], length)];
        e->line[head] = e->sound[i];
        e->result[i] = s;
        head = wrap(head + 1, length);
    }
    e->head = head;
}

static uint64_t turn(void *argument)
{
    struct echo *e = argument;
    for (int i = 0; i < 10; i++)
        if (e->wraps)
            play_wrapped(e);
        else
            play(e);
    return 10 * SAMPLES;
}

int main(int argc, char **argv)
{
    static struct echo e;
    double sum = 0;
    e.length = argc > 3 ? (uint32_t)atoi(argv[3]) : 3001;
    e.late[0] = 400, e.late[1] = 1100, e.late[2] = 2300;
    e.wraps = variant(argc, argv);
    for (int i = 0; i < SAMPLES; i++)
        e.sound[i] = (float)(i * 13 % 127);
    int status = run_kernel("tap_delay", argc, argv, turn, &e);
    for (int i = 0; i < SAMPLES; i++)
        sum += (double)e.result[i];
    printf("result=%.0f\n", sum);
    return status;
}
