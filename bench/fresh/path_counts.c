/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the walks of each length between 32 stations: a matrix of numbers times a matrix of ones and zeros.
 * Variant 1: the ones are masks, so no multiplier is needed. */
#include "../kernels/kernel.h"

enum { STATIONS = 32 };

struct network {
    uint64_t roads[STATIONS][STATIONS], walks[STATIONS][STATIONS], longer[STATIONS][STATIONS];
    int masks;
};

__attribute__((optimize("no-tree-vectorize"))) HOT static void lengthen(struct network *n, int masks)
{
    for (int i = 0; i < STATIONS; i++)
        for (int j = 0; j < STATIONS; j += 4) {
            const uint64_t *roads = n->roads[i], *b = n->walks[j];
            uint64_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
            if (masks)
#pragma GCC unroll 4
                for (int k = 0; k < STATIONS; k++) {
                    s0 += roads[k] & b[k], s1 += roads[k] & b[k + STATIONS];
                    s2 += roads[k] & b[k + 2 * STATIONS], s3 += roads[k] & b[k + 3 * STATIONS];
                }
            else
#pragma GCC unroll 4
                for (int k = 0; k < STATIONS; k++) {
                    s0 += roads[k] * b[k], s1 += roads[k] * b[k + STATIONS];
                    s2 += roads[k] * b[k + 2 * STATIONS], s3 += roads[k] * b[k + 3 * STATIONS];
                }
            n->longer[j][i] = s0, n->longer[j + 1][i] = s1;
            n->longer[j + 2][i] = s2, n->longer[j + 3][i] = s3;
        }
}

static uint64_t turn(void *argument)
{
    struct network *n = argument;
    lengthen(n, n->masks);
    memcpy(n->walks, n->longer, sizeof n->walks);
    return STATIONS * STATIONS * STATIONS;
}

int main(int argc, char **argv)
{
    static struct network n;
    uint64_t seed = 2549297995355413925u, sum = 0;
    n.masks = variant(argc, argv);
    for (int i = 0; i < STATIONS; i++)
        for (int j = 0; j < STATIONS; j++) {
            int road = (next_random(&seed) >> 33) % 3 == 0;
            n.roads[i][j] = road ? n.masks ? ~0ull : 1 : 0;
            n.walks[i][j] = i == j;
        }
    int status = run_kernel("path_counts", argc, argv, turn, &n);
    for (int i = 0; i < STATIONS; i++)
        for (int j = 0; j < STATIONS; j++)
            sum = sum * 31 + n.walks[i][j];
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
