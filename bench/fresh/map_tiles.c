/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A map server finds the tile of each of its points: two divisions by sizes that the user chose. Variant 1:
 * multiplication by the reciprocals, exact for coordinates of 16 bits. */
#include "../kernels/kernel.h"

enum { POINTS = 2048 };

struct point {
    uint16_t x, y;
};

struct map {
    struct point points[POINTS];
    uint32_t tiles[POINTS];
    uint32_t width, height, columns;
    int reciprocal;
};

HOT static void find_tiles(struct map *m)
{
    uint32_t w = m->width, h = m->height, columns = m->columns;
    if (!m->reciprocal) {
        for (int i = 0; i < POINTS; i++)
            m->tiles[i] = m->points[i].y / h * columns + m->points[i].x / w;
        return;
    }
    uint64_t over_w = (1ull << 32) / w + 1, over_h = (1ull << 32) / h + 1;
    for (int i = 0; i < POINTS; i++) {
        uint32_t row = (uint32_t)(m->points[i].y * over_h >> 32),
                 column = (uint32_t)(m->points[i].x * over_w >> 32);
        m->tiles[i] = row * columns + column;
    }
}

static uint64_t turn(void *argument)
{
    find_tiles(argument);
    return POINTS;
}

int main(int argc, char **argv)
{
    static struct map m;
    uint64_t seed = 2685821657736338717u, sum = 0;
    m.reciprocal = variant(argc, argv);
    m.width = 61, m.height = 47, m.columns = 1 + 65535 / 61;
    for (int i = 0; i < POINTS; i++)
        m.points[i] =
            (struct point){(uint16_t)(next_random(&seed) >> 30), (uint16_t)(next_random(&seed) >> 30)};
    int status = run_kernel("map_tiles", argc, argv, turn, &m);
    for (int i = 0; i < POINTS; i++)
        sum = sum * 31 + m.tiles[i];
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
