/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns a photo of 4096 x 4096 pixels by 90 degrees, row by row: each pixel goes to another row of the result.
 * Variant: tile by tile, 16 x 16 pixels. */
#include "../kernels/kernel.h"

#define SIDE 4096u

struct photo {
    uint32_t *from, *to;
    unsigned row, tile;
};

static HOT uint64_t rotate(void *argument)
{
    struct photo *p = argument;
    unsigned tile = p->tile, width = tile ? tile : SIDE;
    for (unsigned column = 0; column < SIDE; column += width)
        for (unsigned y = p->row; y < p->row + 16; y++)
            for (unsigned x = column; x < column + width; x++)
                p->to[x * SIDE + (SIDE - 1 - y)] = p->from[y * SIDE + x];
    p->row = (p->row + 16) % SIDE;
    return 16 * SIDE;
}

int main(int argc, char **argv)
{
    struct photo p = {memory(SIDE * SIDE * 4, 0), memory(SIDE * SIDE * 4, 0), 0,
                      variant(argc, argv) ? 16 : 0};
    return run_kernel("rotate_photo", argc, argv, rotate, &p);
}
