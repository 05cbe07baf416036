/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums a matrix of 64 MB by columns: each element is on another page. Variant: by rows. */
#include "../kernels/kernel.h"

enum { ROWS = 4096, COLUMNS = 2048, A_CALL = 64 };

struct matrix {
    double *values, sums[COLUMNS];
    unsigned at;
};

static HOT uint64_t sum_columns(void *argument)
{
    struct matrix *m = argument;
    for (unsigned n = 0; n < A_CALL; n++, m->at = (m->at + 1) % COLUMNS) {
        const double *value = m->values + m->at;
        double sum = 0;
        for (unsigned r = 0; r < ROWS; r++)
            sum += value[(size_t)r * COLUMNS];
        m->sums[m->at] += sum;
    }
    return A_CALL * ROWS;
}

static HOT uint64_t sum_rows(void *argument)
{
    struct matrix *m = argument;
    for (unsigned n = 0; n < A_CALL; n++, m->at = (m->at + 1) % COLUMNS) {
        const double *value = m->values + (size_t)m->at * COLUMNS;
        double sum = 0;
        for (unsigned c = 0; c < ROWS; c++)
            sum += value[c];
        m->sums[m->at] += sum;
    }
    return A_CALL * ROWS;
}

int main(int argc, char **argv)
{
    static struct matrix m;
    m.values = memory((size_t)ROWS * COLUMNS * sizeof(double), 0);
    return run_kernel("column_sum", argc, argv, variant(argc, argv) ? sum_rows : sum_columns, &m);
}
