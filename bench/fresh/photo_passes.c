/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Four filters over a photograph of 48 MB, one after the other. Variant 1: all four on 16 KB, then the next
 * 16 KB. */
#include "../kernels/kernel.h"

#include <immintrin.h>

enum { TILE = 16384, TILES = 3072, FILTERS = 4 };

struct photo {
    uint8_t *pixels;
    int by_tile;
};

__attribute__((target("avx2"))) HOT static void apply(uint8_t *tile, int filter)
{
    __m256i *p = (__m256i *)tile, *end = (__m256i *)(tile + TILE);
    __m256i lift = _mm256_set1_epi8(9), cut = _mm256_set1_epi8(14), grey = _mm256_set1_epi8(120),
            flip = _mm256_set1_epi8(-1);
    switch (filter) {
    case 0:
        for (; p < end; p++)
            *p = _mm256_adds_epu8(*p, lift);
        break;
    case 1:
        for (; p < end; p++)
            *p = _mm256_subs_epu8(*p, cut);
        break;
    case 2:
        for (; p < end; p++)
            *p = _mm256_avg_epu8(*p, grey);
        break;
    default:
        for (; p < end; p++)
            *p = _mm256_xor_si256(*p, flip);
    }
}

static uint64_t turn(void *argument)
{
    struct photo *p = argument;
    for (int i = 0; i < FILTERS * TILES; i++) {
        int tile = p->by_tile ? i / FILTERS : i % TILES, filter = p->by_tile ? i % FILTERS : i / TILES;
        apply(p->pixels + (size_t)tile * TILE, filter);
    }
    return FILTERS * TILES;
}

int main(int argc, char **argv)
{
    static struct photo p;
    uint64_t seed = 5495930423872213381u, sum = 0;
    p.by_tile = variant(argc, argv);
    p.pixels = memory(TILES * (size_t)TILE, 1);
    for (size_t i = 0; i < TILES * (size_t)TILE; i += 8) {
        uint64_t r = next_random(&seed);
        memcpy(p.pixels + i, &r, 8);
    }
    int status = run_kernel("photo_passes", argc, argv, turn, &p);
    for (size_t i = 0; i < TILES * (size_t)TILE; i++)
        sum += p.pixels[i] * (i % 97);
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
