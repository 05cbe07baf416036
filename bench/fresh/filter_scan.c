/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A column store counts the rows below a limit in a column of 256 MB, sixteen at a time and without branches: it
 * waits for the bandwidth of memory. Variant 1: the same over 16 KB, again and again. */
#include "../kernels/kernel.h"

#include <emmintrin.h>

enum { CHUNK = 1 << 18 };

struct column {
    int32_t *value;
    size_t rows, at;
    volatile uint64_t below;
};

HOT static uint64_t count_below(const int32_t *value, size_t rows, int limit)
{
    __m128i l = _mm_set1_epi32(limit), a = _mm_setzero_si128(), b = a, c = a, d = a;
    for (size_t i = 0; i < rows; i += 16) {
        a = _mm_sub_epi32(a, _mm_cmpgt_epi32(l, _mm_load_si128((const __m128i *)(value + i))));
        b = _mm_sub_epi32(b, _mm_cmpgt_epi32(l, _mm_load_si128((const __m128i *)(value + i + 4))));
        c = _mm_sub_epi32(c, _mm_cmpgt_epi32(l, _mm_load_si128((const __m128i *)(value + i + 8))));
        d = _mm_sub_epi32(d, _mm_cmpgt_epi32(l, _mm_load_si128((const __m128i *)(value + i + 12))));
    }
    __m128i sum = _mm_add_epi32(_mm_add_epi32(a, b), _mm_add_epi32(c, d));
    sum = _mm_add_epi32(sum, _mm_srli_si128(sum, 8));
    return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_srli_si128(sum, 4)));
}

static uint64_t turn(void *argument)
{
    struct column *c = argument;
    size_t rows = c->rows < CHUNK ? c->rows : CHUNK;
    for (size_t done = 0; done < CHUNK; done += rows) {
        c->below += count_below(c->value + c->at, rows, 1000);
        c->at = (c->at + rows) % c->rows;
    }
    return CHUNK;
}

int main(int argc, char **argv)
{
    struct column c = {.rows = variant(argc, argv) ? 4096 : 64 << 20};
    c.value = memory(c.rows * sizeof *c.value, 1);
    for (size_t i = 0; i < c.rows; i += 16)
        c.value[i] = (int32_t)(i % 2003);
    return run_kernel("filter_scan", argc, argv, turn, &c);
}
