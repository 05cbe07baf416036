// SPDX-License-Identifier: GPL-2.0-or-later
// The map: heights from a few octaves of smoothed noise, and what a step onto them costs.
#include "tiles.h"
#include <stdlib.h>
#include <string.h>

enum { WATER = 74, SHORE = 92, MEADOW = 128, WOOD = 156, HILL = 182, ROCK = 206 };

const int8_t map_dx[8] = {1, 1, 0, -1, -1, -1, 0, 1};
const int8_t map_dy[8] = {0, 1, 1, 1, 0, -1, -1, -1};

static uint32_t noise(uint64_t seed, int x, int y)
{
    uint64_t value =
        seed + (uint64_t)(uint32_t)x * 0x9e3779b97f4a7c15u + (uint64_t)(uint32_t)y * 0xc2b2ae3d27d4eb4fu;
    value = (value ^ value >> 31) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 29) * 0x94d049bb133111ebu;
    return (uint32_t)(value >> 40) & 0xff;
}

// One octave: noise at the corners of squares, blended between them.
static int octave(uint64_t seed, int x, int y, int size)
{
    int left = x / size, top = y / size, dx = x % size, dy = y % size;
    int upper = (int)noise(seed, left, top) * (size - dx) + (int)noise(seed, left + 1, top) * dx;
    int lower = (int)noise(seed, left, top + 1) * (size - dx) + (int)noise(seed, left + 1, top + 1) * dx;
    return (upper * (size - dy) + lower * dy) / (size * size);
}

static uint16_t cost_of_height(int height)
{
    if (height < WATER || height >= ROCK)
        return 0;
    if (height < SHORE)
        return 16;
    if (height < MEADOW)
        return 10;
    if (height < WOOD)
        return 14;
    if (height < HILL)
        return 19;
    return 27;
}

void map_open(Map *map, int width, int height, uint64_t seed)
{
    map->width = width;
    map->height = height;
    map->heights = calloc((size_t)(width * height), 1);
    map->busy = calloc((size_t)(width * height), 1);
    if (!map->heights || !map->busy)
        abort();
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++) {
            int sum =
                5 * octave(seed, x, y, 24) + 3 * octave(seed + 1, x, y, 6) + 4 * (int)noise(seed + 2, x, y);
            map->heights[map_tile(map, x, y)] = (uint8_t)(sum / 12);
        }
    for (int i = 0; i < 256; i++)
        map->step_cost[i] = cost_of_height(i);
}

void map_close(Map *map)
{
    free(map->heights);
    free(map->busy);
}
