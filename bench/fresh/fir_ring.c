/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A filter of 32 taps for live sound: each sample goes into the delay line, and vectors of four are read from there at
 * once. Variant 1: 64 samples go in before the first of them is filtered. */
#include "../kernels/kernel.h"

enum { TAPS = 32, LINE = 1024, BLOCK = 64 };

typedef float four __attribute__((vector_size(16), aligned(4)));

struct filter {
    float line[LINE + TAPS], taps[TAPS], sound[LINE], result[LINE];
    int blocks;
};

static float response(const struct filter *f, int i)
{
    four a = {0}, b = {0};
    for (int k = 0; k < TAPS; k += 8) {
        a += *(const four *)(f->line + i + k) * *(const four *)(f->taps + k);
        b += *(const four *)(f->line + i + k + 4) * *(const four *)(f->taps + k + 4);
    }
    a += b;
    return a[0] + a[1] + (a[2] + a[3]);
}

HOT static void filter(struct filter *f)
{
    for (int i = 0; i < LINE; i++) {
        f->line[TAPS - 1 + i] = f->sound[i];
        f->result[i] = response(f, i);
    }
}

HOT static void filter_blocks(struct filter *f)
{
    for (int start = 0; start < LINE; start += BLOCK) {
        for (int i = start; i < start + BLOCK; i++)
            f->line[TAPS - 1 + i] = f->sound[i];
        for (int i = start; i < start + BLOCK; i++)
            f->result[i] = response(f, i);
    }
}

static uint64_t turn(void *argument)
{
    struct filter *f = argument;
    for (int i = 0; i < 50; i++)
        if (f->blocks)
            filter_blocks(f);
        else
            filter(f);
    return 50 * LINE;
}

int main(int argc, char **argv)
{
    static struct filter f;
    double sum = 0;
    f.blocks = variant(argc, argv);
    for (int i = 0; i < TAPS; i++)
        f.taps[i] = (float)(i % 5 + 1);
    for (int i = 0; i < LINE; i++)
        f.sound[i] = (float)(i * 37 % 101);
    int status = run_kernel("fir_ring", argc, argv, turn, &f);
    for (int i = 0; i < LINE; i++)
        sum += (double)f.result[i];
    printf("result=%.0f\n", sum);
    return status;
}
