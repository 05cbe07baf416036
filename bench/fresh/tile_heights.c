/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A terrain is stored in tiles of 64 by 64 heights of a byte, a page each. An overview reads one height of each of 6,500
 * tiles, in the order in which they are drawn. Variant 1: these heights are kept together, a line each. */
#include "../kernels/kernel.h"

enum { TILES = 6500, TILE = 64 * 64, LINE = 64 };

struct terrain {
    const uint8_t *heights;
    uint32_t places[TILES];
    uint64_t sum;
};

HOT static uint64_t overview(const uint8_t *heights, const uint32_t *places)
{
    uint64_t sum = 0;
    for (int i = 0; i < TILES; i++)
        sum += heights[places[i]];
    return sum;
}

static uint64_t turn(void *argument)
{
    struct terrain *t = argument;
    for (int i = 0; i < 20; i++)
        t->sum += overview(t->heights, t->places);
    return 20 * TILES;
}

int main(int argc, char **argv)
{
    static struct terrain t;
    uint64_t seed = 88172645463325252u;
    uint8_t *heights = memory(TILES * TILE, 0);
    int together = variant(argc, argv);
    for (uint32_t i = 0; i < TILES; i++) {
        t.places[i] = together ? i * LINE : i * TILE + (uint32_t)(next_random(&seed) >> 30) % TILE;
        heights[t.places[i]] = (uint8_t)(i % 199);
    }
    for (uint32_t i = TILES - 1; i > 0; i--) {
        uint32_t k = (uint32_t)(next_random(&seed) >> 30) % (i + 1), other = t.places[k];
        t.places[k] = t.places[i];
        t.places[i] = other;
    }
    t.heights = heights;
    int status = run_kernel("tile_heights", argc, argv, turn, &t);
    printf("result=%llu\n", (unsigned long long)t.sum);
    return status;
}
