/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A CRC of blocks of 4 KB by the instruction for it, one word after the other. Variant: three words at once. */
#include "../kernels/kernel.h"

#include <nmmintrin.h>

enum { WORDS = 510 };

struct block {
    uint64_t words[WORDS], crc;
};

static HOT __attribute__((target("sse4.2"))) uint64_t checksum(void *argument)
{
    struct block *b = argument;
    uint64_t crc = b->crc;
    for (unsigned turn = 0; turn < 100; turn++)
        for (unsigned i = 0; i < WORDS; i++)
            crc = _mm_crc32_u64(crc, b->words[i]);
    b->crc = crc;
    return 100 * WORDS;
}

static HOT __attribute__((target("sse4.2"))) uint64_t checksum_three(void *argument)
{
    struct block *b = argument;
    uint64_t x = b->crc, y = 0, z = 0;
    for (unsigned turn = 0; turn < 100; turn++)
        for (unsigned i = 0; i < WORDS / 3; i++) {
            x = _mm_crc32_u64(x, b->words[i]);
            y = _mm_crc32_u64(y, b->words[WORDS / 3 + i]);
            z = _mm_crc32_u64(z, b->words[WORDS / 3 * 2 + i]);
        }
    b->crc = x ^ y ^ z;
    return 100 * WORDS;
}

int main(int argc, char **argv)
{
    static struct block b = {.crc = 1};
    return run_kernel("crc_serial", argc, argv, variant(argc, argv) ? checksum_three : checksum, &b);
}
