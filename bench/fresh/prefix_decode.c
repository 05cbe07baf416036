/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes a prefix code by a table: where a symbol begins depends on the length of the one before. Variant: four
 * streams side by side, as modern formats have them. */
#include "../kernels/kernel.h"

enum { BYTES = 4096, BITS = 9, SYMBOLS = 4096 };

struct code {
    struct {
        uint8_t symbol, length;
    } table[1 << BITS];
    uint8_t bytes[BYTES + 8], to[4][SYMBOLS];
};

static inline uint64_t step(struct code *c, uint64_t at, uint8_t *to)
{
    uint64_t bits;
    memcpy(&bits, c->bytes + (at >> 3 & (BYTES - 1)), 8);
    unsigned index = bits >> (at & 7) & ((1 << BITS) - 1);
    *to = c->table[index].symbol;
    return at + c->table[index].length;
}

static HOT uint64_t decode(void *argument)
{
    struct code *c = argument;
    uint64_t at = 0;
    for (unsigned turn = 0; turn < 40; turn++)
        for (unsigned i = 0; i < SYMBOLS; i++)
            at = step(c, at, &c->to[0][i]);
    return 40 * SYMBOLS;
}

static HOT uint64_t decode_four(void *argument)
{
    struct code *c = argument;
    uint64_t at0 = 0, at1 = 8191, at2 = 16381, at3 = 24571;
    for (unsigned turn = 0; turn < 40; turn++)
        for (unsigned i = 0; i < SYMBOLS / 4; i++) {
            at0 = step(c, at0, &c->to[0][i]);
            at1 = step(c, at1, &c->to[1][i]);
            at2 = step(c, at2, &c->to[2][i]);
            at3 = step(c, at3, &c->to[3][i]);
        }
    return 40 * SYMBOLS;
}

int main(int argc, char **argv)
{
    static struct code c;
    uint64_t seed = 88172645463325252;
    for (unsigned i = 0; i < 1 << BITS; i++) {
        c.table[i].symbol = (uint8_t)i;
        c.table[i].length = (uint8_t)(i & 1 ? 3 : i & 2 ? 5 : BITS);
    }
    for (unsigned i = 0; i < sizeof c.bytes; i++)
        c.bytes[i] = (uint8_t)next_random(&seed);
    return run_kernel("prefix_decode", argc, argv, variant(argc, argv) ? decode_four : decode, &c);
}
