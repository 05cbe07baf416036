/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes text of characters of one, two and three bytes in random order. Variant: in turn. */
#include "../kernels/kernel.h"

enum { CHARACTERS = 1 << 16 };

struct text {
    uint8_t bytes[3 * CHARACTERS];
    uint32_t to[CHARACTERS];
};

static HOT uint64_t decode(void *argument)
{
    struct text *t = argument;
    const uint8_t *at = t->bytes;
    for (unsigned i = 0; i < CHARACTERS; i++) {
        uint32_t c = *at++;
        if (c >= 0xe0) {
            c = (c & 15) << 12 | (at[0] & 63u) << 6 | (at[1] & 63u);
            at += 2;
        } else if (c >= 0xc0) {
            c = (c & 31) << 6 | (at[0] & 63u);
            at++;
        }
        t->to[i] = c;
    }
    return CHARACTERS;
}

int main(int argc, char **argv)
{
    static struct text t;
    uint64_t seed = 88172645463325252;
    uint8_t *at = t.bytes;
    for (unsigned i = 0; i < CHARACTERS; i++) {
        unsigned length = variant(argc, argv) ? i % 3 : (unsigned)(next_random(&seed) % 3);
        *at++ = (uint8_t)(length == 0 ? 'a' : length == 1 ? 0xc3 : 0xe2);
        while (length--)
            *at++ = 0xa9;
    }
    return run_kernel("utf8_decode", argc, argv, decode, &t);
}
