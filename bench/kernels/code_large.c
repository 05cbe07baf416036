/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 4,096 straight pieces of code of about 120 bytes each, half a megabyte, run in turn by one loop: hardly any
 * data, all branches predictable, but no line of code is in the first-level I-cache when its turn comes.
 * Variant: sixteen of the pieces, 256 times as often. */
#include "kernel.h"

#define PIECE(n)                                                                                             \
    a += 0x1##n##ull, b ^= 0x2##n##ull, c += 0x3##n##ull, d ^= 0x4##n##ull;                                  \
    e += 0x5##n##ull, f ^= 0x6##n##ull, a ^= 0x7##n##ull, b += 0x1##n##1ull;                                 \
    if (a == 0)                                                                                              \
        return 0;                                                                                            \
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
// clang-format off
#define P16(p) \
    PIECE(p##0) PIECE(p##1) PIECE(p##2) PIECE(p##3) PIECE(p##4) PIECE(p##5) PIECE(p##6) PIECE(p##7) \
    PIECE(p##8) PIECE(p##9) PIECE(p##a) PIECE(p##b) PIECE(p##c) PIECE(p##d) PIECE(p##e) PIECE(p##f)
#define P256(p) \
    P16(p##0) P16(p##1) P16(p##2) P16(p##3) P16(p##4) P16(p##5) P16(p##6) P16(p##7) \
    P16(p##8) P16(p##9) P16(p##a) P16(p##b) P16(p##c) P16(p##d) P16(p##e) P16(p##f)
#define P4096 \
    P256(0) P256(1) P256(2) P256(3) P256(4) P256(5) P256(6) P256(7) \
    P256(8) P256(9) P256(a) P256(b) P256(c) P256(d) P256(e) P256(f)
// clang-format on

static HOT uint64_t long_code(void *argument)
{
    uint64_t *v = argument, a = v[0] | 1, b = v[1], c = v[2], d = v[3], e = v[4], f = v[5];
    for (unsigned turn = 0; turn < 40; turn++) {
        P4096
    }
    v[0] = a, v[1] = b, v[2] = c, v[3] = d, v[4] = e, v[5] = f;
    return 40 * 4096;
}

static HOT uint64_t short_code(void *argument)
{
    uint64_t *v = argument, a = v[0] | 1, b = v[1], c = v[2], d = v[3], e = v[4], f = v[5];
    for (unsigned turn = 0; turn < 40 * 256; turn++) {
        P16(00)
    }
    v[0] = a, v[1] = b, v[2] = c, v[3] = d, v[4] = e, v[5] = f;
    return 40 * 4096;
}

int main(int argc, char **argv)
{
    static uint64_t v[6];
    return run_kernel("code_large", argc, argv, variant(argc, argv) ? short_code : long_code, v);
}
