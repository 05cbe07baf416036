/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pixels from red, green and blue to brightness and two colour differences, with integers. Variant 1: the nine products
 * are read from tables, as old decoders do. */
#include "../kernels/kernel.h"

enum { PIXELS = 2048, REPEATS = 16 };

struct picture {
    uint8_t from[PIXELS][3], to[PIXELS][3];
    int32_t table[9][256];
    int by_table;
};

static const int32_t WEIGHT[9] = {19595, 38470, 7471, -11059, -21709, 32768 - 41, 32768 - 73, -27439, -5329};

HOT static void convert(struct picture *p)
{
    for (int i = 0; i < PIXELS; i++) {
        int32_t r = p->from[i][0], g = p->from[i][1], b = p->from[i][2];
        p->to[i][0] = (uint8_t)((WEIGHT[0] * r + WEIGHT[1] * g + WEIGHT[2] * b) >> 16);
        p->to[i][1] = (uint8_t)(((WEIGHT[3] * r + WEIGHT[4] * g + WEIGHT[5] * b) >> 16) + 128);
        p->to[i][2] = (uint8_t)(((WEIGHT[6] * r + WEIGHT[7] * g + WEIGHT[8] * b) >> 16) + 128);
    }
}

HOT static void convert_by_table(struct picture *p)
{
    int32_t(*t)[256] = p->table;
    for (int i = 0; i < PIXELS; i++) {
        uint32_t r = p->from[i][0], g = p->from[i][1], b = p->from[i][2];
        p->to[i][0] = (uint8_t)((t[0][r] + t[1][g] + t[2][b]) >> 16);
        p->to[i][1] = (uint8_t)(((t[3][r] + t[4][g] + t[5][b]) >> 16) + 128);
        p->to[i][2] = (uint8_t)(((t[6][r] + t[7][g] + t[8][b]) >> 16) + 128);
    }
}

static uint64_t turn(void *argument)
{
    struct picture *p = argument;
    for (int i = 0; i < REPEATS; i++)
        (p->by_table ? convert_by_table : convert)(p);
    return PIXELS * REPEATS;
}

int main(int argc, char **argv)
{
    static struct picture p;
    for (int i = 0; i < PIXELS * 3; i++)
        p.from[i / 3][i % 3] = (uint8_t)(i * 7);
    for (int i = 0; i < 9 * 256; i++)
        p.table[i / 256][i % 256] = WEIGHT[i / 256] * (i % 256);
    p.by_table = variant(argc, argv);
    return run_kernel("to_yuv", argc, argv, turn, &p);
}
