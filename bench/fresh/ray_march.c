/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rays through a field of distances, 128 x 128 x 128, 4 MB: each step is as long as the distance at the place is.
 * Variant 1: a field of 16 x 16 x 16, repeated in all directions. */
#include "../kernels/kernel.h"

enum { RAYS = 512, STEPS = 32 };

struct field {
    const uint16_t *distance;
    uint32_t bits;
    uint64_t seed;
    volatile uint64_t depth;
};

HOT static uint32_t march(const uint16_t *distance, uint32_t bits, uint64_t ray)
{
    uint32_t mask = (1u << bits) - 1, depth = 0;
    uint32_t x = (uint32_t)ray & 0xffff, y = (uint32_t)(ray >> 16) & 0xffff,
             z = (uint32_t)(ray >> 32) & 0xffff;
    uint32_t dx = (uint32_t)(ray >> 48) & 63, dy = (uint32_t)(ray >> 54) & 63, dz = (uint32_t)(ray >> 58) | 1;
    for (int i = 0; i < STEPS; i++) {
        uint32_t px = ((x + dx * depth) >> 6) & mask, py = ((y + dy * depth) >> 6) & mask;
        uint32_t pz = ((z + dz * depth) >> 6) & mask;
        depth += distance[(((pz << bits) | py) << bits) | px];
    }
    return depth;
}

static uint64_t turn(void *argument)
{
    struct field *f = argument;
    for (int i = 0; i < RAYS; i++)
        f->depth += march(f->distance, f->bits, next_random(&f->seed) ^ (f->depth & 1));
    return RAYS * STEPS;
}

int main(int argc, char **argv)
{
    struct field f = {.bits = variant(argc, argv) ? 4 : 7, .seed = 2685821657736338717u};
    size_t voxels = (size_t)1 << (3 * f.bits);
    uint16_t *distance = memory(voxels * sizeof *distance, 1);
    for (size_t i = 0; i < voxels; i++)
        distance[i] = (uint16_t)(16 + (i * 2654435761u >> 16) % 32);
    f.distance = distance;
    return run_kernel("ray_march", argc, argv, turn, &f);
}
