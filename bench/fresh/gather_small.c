/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps bytes of an image through a table of 4 KB by gathers of eight elements. All is in the first level.
 * Variant: vector loads in order. */
#include "../kernels/kernel.h"

#include <immintrin.h>

enum { PIXELS = 2048 };

struct image {
    int32_t index[PIXELS], table[1024 + 8];
    __m256i sum[2];
};

static HOT __attribute__((target("avx2"))) uint64_t map_gather(void *argument)
{
    struct image *m = argument;
    __m256i a = _mm256_setzero_si256(), b = a;
    for (unsigned turn = 0; turn < 50; turn++)
        for (unsigned i = 0; i < PIXELS; i += 16) {
            __m256i at = _mm256_loadu_si256((const __m256i *)(m->index + i));
            __m256i next = _mm256_loadu_si256((const __m256i *)(m->index + i + 8));
            a = _mm256_add_epi32(a, _mm256_i32gather_epi32(m->table, at, 4));
            b = _mm256_add_epi32(b, _mm256_i32gather_epi32(m->table, next, 4));
        }
    _mm256_storeu_si256(&m->sum[0], _mm256_add_epi32(a, b));
    return 50 * PIXELS;
}

static HOT __attribute__((target("avx2"))) uint64_t map_load(void *argument)
{
    struct image *m = argument;
    __m256i a = _mm256_setzero_si256(), b = a;
    for (unsigned turn = 0; turn < 50; turn++)
        for (unsigned i = 0; i < PIXELS; i += 16) {
            __m256i at = _mm256_loadu_si256((const __m256i *)(m->table + (m->index[i] & 1023)));
            __m256i next = _mm256_loadu_si256((const __m256i *)(m->table + (m->index[i + 8] & 1023)));
            a = _mm256_add_epi32(a, at);
            b = _mm256_add_epi32(b, next);
        }
    _mm256_storeu_si256(&m->sum[0], _mm256_add_epi32(a, b));
    return 50 * PIXELS;
}

int main(int argc, char **argv)
{
    static struct image m;
    uint64_t seed = 88172645463325252;
    for (unsigned i = 0; i < PIXELS; i++)
        m.index[i] = (int32_t)(next_random(&seed) >> 33 & 1023);
    return run_kernel("gather_small", argc, argv, variant(argc, argv) ? map_load : map_gather, &m);
}
