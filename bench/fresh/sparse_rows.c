/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Multiplies a sparse matrix, twelve elements a row, by a vector of 64 MB. Variant: a band matrix, whose columns
 * lie near the diagonal. */
#include "../kernels/kernel.h"

enum { ROWS = 1 << 18, A_ROW = 12, COLUMNS = 8 << 20, A_CALL = 1 << 13 };

struct matrix {
    uint32_t *column;
    double *value, *x, *y;
    unsigned row;
};

static HOT uint64_t multiply_rows(void *argument)
{
    struct matrix *m = argument;
    for (unsigned row = m->row; row < m->row + A_CALL; row++) {
        double sum = 0;
        for (unsigned i = row * A_ROW; i < row * A_ROW + A_ROW; i++)
            sum += m->value[i] * m->x[m->column[i]];
        m->y[row] = sum;
    }
    m->row = (m->row + A_CALL) % ROWS;
    return A_CALL * A_ROW;
}

int main(int argc, char **argv)
{
    struct matrix m = {memory(ROWS * A_ROW * 4, 0), memory(ROWS * A_ROW * 8, 0), memory(COLUMNS * 8, 0),
                       memory(ROWS * 8, 0), 0};
    uint64_t seed = 4102;
    for (unsigned i = 0; i < COLUMNS; i++)
        m.x[i] = 1.0 / (i + 1);
    for (unsigned i = 0; i < ROWS * A_ROW; i++) {
        uint64_t random = next_random(&seed) >> 11;
        m.column[i] =
            (uint32_t)(variant(argc, argv) ? (i / A_ROW + random % 64) % COLUMNS : random % COLUMNS);
        m.value[i] = 0.5;
    }
    return run_kernel("sparse_rows", argc, argv, multiply_rows, &m);
}
