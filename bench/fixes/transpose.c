/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transposes a matrix of 2,048 by 2,048 numbers: it is read along rows and written down columns, each store
 * to another page. Fixed: in squares of sixteen, so that each line is filled while it is there. */
#include "../kernels/kernel.h"

enum { N = 2048, SQUARE = 16 };

struct matrices {
    double *from, *to;
};

static HOT uint64_t transpose(void *argument)
{
    struct matrices *m = argument;
    for (size_t row = 0; row < N; row++)
        for (size_t column = 0; column < N; column++)
            m->to[column * N + row] = m->from[row * N + column];
    return N * N;
}

static HOT uint64_t transpose_squares(void *argument)
{
    struct matrices *m = argument;
    for (size_t rows = 0; rows < N; rows += SQUARE)
        for (size_t columns = 0; columns < N; columns += SQUARE)
            for (size_t row = rows; row < rows + SQUARE; row++)
                for (size_t column = columns; column < columns + SQUARE; column++)
                    m->to[column * N + row] = m->from[row * N + column];
    return N * N;
}

int main(int argc, char **argv)
{
    struct matrices m = {memory((size_t)N * N * sizeof(double), 0),
                         memory((size_t)N * N * sizeof(double), 0)};
    return run_kernel("transpose", argc, argv, variant(argc, argv) ? transpose_squares : transpose, &m);
}
