/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodes bytes as base64 by a table of 64 letters: everything is in the first level, in order and independent.
 * Nothing is wrong with it. Variant: half of the bytes, counted as all. */
#include "../kernels/kernel.h"

enum { BYTES = 6144 };

struct encoder {
    uint8_t from[BYTES + 8];
    char to[BYTES / 3 * 4], letter[64];
    unsigned length;
};

static HOT uint64_t encode(void *argument)
{
    struct encoder *e = argument;
    for (unsigned turn = 0; turn < 16; turn++) {
        char *to = e->to;
        for (unsigned i = 0; i < e->length; i += 3, to += 4) {
            uint32_t three;
            memcpy(&three, e->from + i, 4);
            three = __builtin_bswap32(three);
            to[0] = e->letter[three >> 26], to[1] = e->letter[three >> 20 & 63];
            to[2] = e->letter[three >> 14 & 63], to[3] = e->letter[three >> 8 & 63];
        }
    }
    return 16 * BYTES / 3;
}

int main(int argc, char **argv)
{
    static struct encoder e;
    e.length = variant(argc, argv) ? BYTES / 2 : BYTES;
    for (unsigned i = 0; i < BYTES; i++)
        e.from[i] = (uint8_t)(i * 37);
    memcpy(e.letter, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 64);
    return run_kernel("base64", argc, argv, encode, &e);
}
