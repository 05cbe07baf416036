/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sparse matrix times a vector of 128 MB: the vector's elements are fetched by column numbers, independent
 * of one another. Variant: all columns in the first 16 KB. */
#include "kernel.h"

enum { ROWS = 4096, A_ROW = 16, COLUMNS = 16 << 20 };

struct matrix {
    uint32_t *column;
    double *value, *x, y[ROWS];
};

static HOT uint64_t multiply(void *argument)
{
    struct matrix *m = argument;
    for (unsigned row = 0; row < ROWS; row++) {
        double sum = 0;
        for (unsigned k = row * A_ROW; k < (row + 1) * A_ROW; k++)
            sum += m->value[k] * m->x[m->column[k]];
        m->y[row] += sum;
    }
    /* Other columns the next time: the matrix is a window that wanders over a larger one. */
    m->x = (double *)((uintptr_t)m->x ^ 4096);
    return ROWS * A_ROW;
}

int main(int argc, char **argv)
{
    static struct matrix m;
    uint64_t seed = 88172645463325252, mask = variant(argc, argv) ? 2047 : COLUMNS - 1;
    m.x = memory((size_t)COLUMNS * sizeof(double) + 8192, 1);
    m.value = memory(ROWS * A_ROW * sizeof(double), 1);
    m.column = memory(ROWS * A_ROW * sizeof(uint32_t), 1);
    for (unsigned i = 0; i < ROWS * A_ROW; i++) {
        m.column[i] = (uint32_t)(next_random(&seed) & mask);
        m.value[i] = 1.0 / (i + 1);
    }
    return run_kernel("sparse_gather", argc, argv, multiply, &m);
}
