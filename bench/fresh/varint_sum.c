/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes a column of variable-length integers, seven bits a byte, as protocol buffers and column stores hold them.
 * The lengths are one to four bytes at random, so the end of a number is a coin toss.
 * Variant 1: the same numbers, sorted by length. */
#include "../kernels/kernel.h"

enum { NUMBERS = 50000 };

struct column {
    uint8_t *bytes;
    uint64_t total;
};

HOT static uint64_t decode_column(const uint8_t *p, size_t n)
{
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t value = 0;
        unsigned shift = 0;
        uint8_t byte;
        do {
            byte = *p++;
            value |= (uint64_t)(byte & 127) << shift;
            shift += 7;
        } while (byte & 128);
        total += value;
    }
    return total;
}

static uint64_t turn(void *argument)
{
    struct column *c = argument;
    c->total += decode_column(c->bytes, NUMBERS);
    return NUMBERS;
}

int main(int argc, char **argv)
{
    uint64_t seed = 0xC0FFEE123456789u;
    struct column c = {.bytes = malloc(NUMBERS * 4)};
    static uint8_t length[NUMBERS];
    size_t count[5] = {0}, at = 0;
    for (size_t i = 0; i < NUMBERS; i++)
        count[length[i] = (uint8_t)(1 + (next_random(&seed) >> 33) % 4)]++;
    if (variant(argc, argv))
        for (uint8_t l = 1; l <= 4; l++)
            for (size_t k = 0; k < count[l]; k++)
                length[at++] = l;
    at = 0;
    for (size_t i = 0; i < NUMBERS; i++)
        for (uint8_t k = 1; k <= length[i]; k++)
            c.bytes[at++] = (uint8_t)((next_random(&seed) >> 30 & 127) | (k < length[i] ? 128 : 0));
    return run_kernel("varint_sum", argc, argv, turn, &c);
}
