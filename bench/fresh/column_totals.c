/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Totals of the columns of a matrix whose rows are 4 KB apart: the 128 lines of a column share one set of L1, which
 * holds eight. So each value comes from L2. Variant 1: a line of padding a row; as many pages. */
#include "../kernels/kernel.h"

enum { ROWS = 128, COLUMNS = 512 };

struct matrix {
    uint64_t *values, *totals;
    size_t pitch;
};

HOT static void total_columns(const uint64_t *values, size_t pitch, uint64_t *totals)
{
    for (size_t column = 0; column < COLUMNS; column++) {
        uint64_t total = 0;
        for (size_t row = 0; row < ROWS; row++)
            total += values[row * pitch + column];
        totals[column] = total;
    }
}

static uint64_t turn(void *argument)
{
    struct matrix *m = argument;
    total_columns(m->values, m->pitch, m->totals);
    return ROWS * COLUMNS;
}

int main(int argc, char **argv)
{
    struct matrix m = {.totals = memory(COLUMNS * 8, 0),
                       .pitch = variant(argc, argv) ? COLUMNS + 8 : COLUMNS};
    m.values = memory(ROWS * m.pitch * 8, 1);
    for (size_t i = 0; i < ROWS * m.pitch; i++)
        m.values[i] = i;
    return run_kernel("column_totals", argc, argv, turn, &m);
}
