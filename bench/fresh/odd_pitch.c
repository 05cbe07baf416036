/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds two layers of a picture of 3,968 by 3 bytes, 32 bytes at once. The rows are 3,969 bytes apart, so
 * half of all accesses touch two lines. Variant 1: 4,096 bytes. */
#include "../kernels/kernel.h"

#include <immintrin.h>

enum { WIDTH = 3968, ROWS = 3 };

struct layers {
    uint8_t *above, *below;
    size_t pitch;
};

__attribute__((target("avx2"))) HOT static void add_rows(uint8_t *below, const uint8_t *above, size_t pitch)
{
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = row * pitch; i < row * pitch + WIDTH; i += 32) {
            __m256i a = _mm256_loadu_si256((const __m256i *)(above + i));
            __m256i b = _mm256_loadu_si256((const __m256i *)(below + i));
            _mm256_storeu_si256((__m256i *)(below + i), _mm256_add_epi8(a, b));
        }
}

static uint64_t turn(void *argument)
{
    struct layers *l = argument;
    for (int i = 0; i < 100; i++)
        add_rows(l->below, l->above, l->pitch);
    return 100 * ROWS * WIDTH / 32;
}

int main(int argc, char **argv)
{
    static struct layers l;
    uint64_t sum = 0;
    int even = variant(argc, argv);
    l.pitch = even ? 4096 : 3969;
    l.below = memory(1 << 15, 0);
    l.above = l.below + 13 * 1024;
    l.below += !even, l.above += !even;
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < WIDTH; i++) {
            l.below[row * l.pitch + i] = (uint8_t)(row * 13 + i);
            l.above[row * l.pitch + i] = (uint8_t)(row * 7 + i * 3);
        }
    int status = run_kernel("odd_pitch", argc, argv, turn, &l);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < WIDTH; i++)
            sum += l.below[row * l.pitch + i] * (row + i);
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
