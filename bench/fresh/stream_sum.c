/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums 256 MB in order by four partial sums. The prefetchers of the CPU have nothing left to gain. Variant: the
 * same 16 KB again and again. */
#include "../kernels/kernel.h"

enum { WORDS = 32 << 20 };

struct stream {
    const uint64_t *words;
    uint64_t mask, sum;
};

static HOT uint64_t sum_stream(void *argument)
{
    struct stream *s = argument;
    uint64_t a = 0, b = 0, c = 0, d = 0, mask = s->mask;
    for (uint64_t i = 0; i < WORDS; i += 4) {
        const uint64_t *at = s->words + (i & mask);
        a += at[0], b += at[1], c += at[2], d += at[3];
    }
    s->sum += a + b + c + d;
    return WORDS;
}

int main(int argc, char **argv)
{
    struct stream s = {memory((size_t)WORDS * 8, 1), variant(argc, argv) ? 2047 : WORDS - 1, 0};
    return run_kernel("stream_sum", argc, argv, sum_stream, &s);
}
