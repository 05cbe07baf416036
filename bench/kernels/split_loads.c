/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums pairs of numbers from packed records of 64 bytes that were read at an odd place of a file: each pair
 * lies across two lines. Variant: the same records in their places. */
#include "kernel.h"

#include <emmintrin.h>

enum { RECORDS = 256 };

static HOT uint64_t sum_records(void *argument)
{
    const char *base = argument;
    __m128i a = _mm_setzero_si128(), b = a, c = a, d = a;
    for (unsigned turn = 0; turn < 200; turn++)
        for (unsigned i = 0; i < RECORDS; i += 4) {
            const char *r = base + (size_t)i * 64;
            a = _mm_add_epi64(a, _mm_loadu_si128((const __m128i *)r));
            b = _mm_add_epi64(b, _mm_loadu_si128((const __m128i *)(r + 64)));
            c = _mm_add_epi64(c, _mm_loadu_si128((const __m128i *)(r + 128)));
            d = _mm_add_epi64(d, _mm_loadu_si128((const __m128i *)(r + 192)));
        }
    a = _mm_add_epi64(_mm_add_epi64(a, b), _mm_add_epi64(c, d));
    __asm__ volatile("" : : "x"(a));
    return 200 * RECORDS;
}

int main(int argc, char **argv)
{
    char *base = memory(1 << 20, 1);
    return run_kernel("split_loads", argc, argv, sum_records, base + 64 + (variant(argc, argv) ? 0 : 57));
}
