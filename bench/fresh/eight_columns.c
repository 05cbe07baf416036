/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up eight columns of random rows, each row of a column on its own page: eight loads that walk 6,144 pages
 * together, 768 each. The lines, 384 KB, are in the second level. Variant: the
 * same lines next to one another. */
#include "../kernels/kernel.h"

enum { ROWS = 768, COLUMNS = 8, PAGE = 4096 };

struct columns {
    const char *base;
    size_t stride;
    uint32_t offset[ROWS];
    uint64_t sum;
};

static HOT uint64_t add_columns(void *argument)
{
    struct columns *c = argument;
    uint64_t sum = 0;
    for (unsigned turn = 0; turn < 16; turn++)
        for (unsigned i = 0; i < ROWS; i++) {
            const char *row = c->base + c->offset[i];
#define COLUMN(k) *(const uint64_t *)(row + (size_t)(k)*c->stride)
            sum += COLUMN(0) + COLUMN(1) + COLUMN(2) + COLUMN(3);
            sum += COLUMN(4) + COLUMN(5) + COLUMN(6) + COLUMN(7);
        }
    c->sum += sum;
    return 16 * ROWS;
}

int main(int argc, char **argv)
{
    static struct columns c;
    uint64_t seed = 88172645463325252;
    int packed = variant(argc, argv);
    c.base = memory((size_t)ROWS * COLUMNS * PAGE, 0);
    c.stride = (size_t)ROWS * (packed ? 64 : PAGE);
    for (unsigned i = 0; i < ROWS; i++)
        c.offset[i] = packed ? i * 64 : i * PAGE + (uint32_t)(next_random(&seed) >> 20 & 63) * 64;
    for (unsigned i = ROWS - 1; i > 0; i--) {
        unsigned j = (unsigned)(next_random(&seed) % (i + 1));
        uint32_t o = c.offset[i];
        c.offset[i] = c.offset[j];
        c.offset[j] = o;
    }
    return run_kernel("eight_columns", argc, argv, add_columns, &c);
}
