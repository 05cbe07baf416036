/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums vectors of 32 bytes out of a packet whose payload begins 14 bytes behind a line: every second load spans
 * two lines. Variant: the payload begins on a line. */
#include "../kernels/kernel.h"

#include <immintrin.h>

enum { PAYLOAD = 8192 };

struct packet {
    const char *payload;
    __m256i sum[4];
};

__attribute__((target("avx2"))) static HOT uint64_t sum_payload(void *argument)
{
    struct packet *p = argument;
    __m256i a = p->sum[0], b = p->sum[1], c = p->sum[2], d = p->sum[3];
    for (unsigned turn = 0; turn < 32; turn++)
        for (const char *at = p->payload; at < p->payload + PAYLOAD; at += 128) {
            a = _mm256_add_epi64(a, _mm256_loadu_si256((const __m256i *)at));
            b = _mm256_add_epi64(b, _mm256_loadu_si256((const __m256i *)(at + 32)));
            c = _mm256_add_epi64(c, _mm256_loadu_si256((const __m256i *)(at + 64)));
            d = _mm256_add_epi64(d, _mm256_loadu_si256((const __m256i *)(at + 96)));
        }
    p->sum[0] = a, p->sum[1] = b, p->sum[2] = c, p->sum[3] = d;
    return 32 * PAYLOAD / 32;
}

int main(int argc, char **argv)
{
    static _Alignas(64) char bytes[PAYLOAD + 64];
    static struct packet p;
    p.payload = bytes + (variant(argc, argv) ? 0 : 14);
    return run_kernel("unaligned_sums", argc, argv, sum_payload, &p);
}
