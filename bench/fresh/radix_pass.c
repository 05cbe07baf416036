/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A join splits its rows into 2,048 partitions by eleven bits of the key: 48 MB of rows that come in any order, on small
 * pages. Variant 1: the rows are in this order already. */
#include "../kernels/kernel.h"

enum { ROWS = 3 << 20, PARTS = 2048 };

struct row {
    uint64_t key, value;
};

struct join {
    struct row *rows, *parts;
    uint32_t starts[PARTS], next[PARTS];
};

HOT static void split(const struct row *rows, struct row *parts, uint32_t *next)
{
    for (uint32_t i = 0; i < ROWS; i++)
        parts[next[rows[i].key % PARTS]++] = rows[i];
}

static uint64_t turn(void *argument)
{
    struct join *j = argument;
    memcpy(j->next, j->starts, sizeof j->next);
    split(j->rows, j->parts, j->next);
    return ROWS;
}

int main(int argc, char **argv)
{
    static struct join j;
    uint64_t seed = 2862933555777941757u, sum = 0;
    j.rows = memory(ROWS * sizeof *j.rows, 0);
    j.parts = memory(ROWS * sizeof *j.parts, 0);
    for (uint32_t i = 0; i < ROWS; i++) {
        j.rows[i] = (struct row){next_random(&seed) >> 13, i};
        j.starts[j.rows[i].key % PARTS]++;
    }
    for (uint32_t p = 0, start = 0; p < PARTS; p++) {
        uint32_t rows = j.starts[p];
        j.starts[p] = start;
        start += rows;
    }
    if (variant(argc, argv)) {
        struct row *other = j.rows;
        turn(&j);
        j.rows = j.parts, j.parts = other;
    }
    int status = run_kernel("radix_pass", argc, argv, turn, &j);
    for (uint64_t i = 0; i < ROWS; i++)
        sum += j.parts[i].value * i;
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
