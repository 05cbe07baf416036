/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A vertical box filter over 16 rows of an image of 2,048 columns of 16 bits: the rows lie 4,096 bytes apart.
 * Variant 1: with a margin of 64 bytes at the end of each row. */
#include "../kernels/kernel.h"

enum { COLUMNS = 2048, ROWS = 32, TAPS = 16 };

struct image {
    uint8_t *rows;
    size_t pitch;
    uint16_t *out;
};

HOT static void filter_rows(const struct image *m, size_t y)
{
    for (size_t x = 0; x < COLUMNS; x++) {
        uint32_t sum = 0;
        const uint8_t *at = m->rows + y * m->pitch + 2 * x;
        for (int k = 0; k < TAPS; k++, at += m->pitch)
            sum += *(const uint16_t *)at;
        m->out[x] = (uint16_t)(sum / TAPS);
    }
}

static uint64_t turn(void *argument)
{
    struct image *m = argument;
    for (size_t y = 0; y + TAPS <= ROWS; y++)
        filter_rows(m, y);
    return COLUMNS * (ROWS - TAPS + 1);
}

int main(int argc, char **argv)
{
    size_t pitch = 2 * COLUMNS + (variant(argc, argv) ? 64 : 0);
    struct image m = {memory(ROWS * pitch, 1), pitch, memory(4 * COLUMNS, 1)};
    m.out += COLUMNS / 2;
    memset(m.rows, 7, ROWS * pitch);
    return run_kernel("row_filter", argc, argv, turn, &m);
}
