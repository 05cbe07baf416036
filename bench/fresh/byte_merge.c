/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads big-endian words byte by byte through the low part of a register, as old assembly does. Variant: four
 * words side by side. */
#include "../kernels/kernel.h"

enum { BYTES = 4096 };

struct input {
    uint8_t bytes[BYTES];
    uint64_t sum;
};

#define TAKE(x, byte) __asm__ volatile("rol $8, %0\n\tmovb %1, %b0" : "+q"(x) : "m"(byte))

static HOT uint64_t read_words(void *argument)
{
    struct input *in = argument;
    uint64_t x = in->sum;
    for (unsigned turn = 0; turn < 40; turn++)
        for (unsigned i = 0; i < BYTES; i += 4) {
            TAKE(x, in->bytes[i]);
            TAKE(x, in->bytes[i + 1]);
            TAKE(x, in->bytes[i + 2]);
            TAKE(x, in->bytes[i + 3]);
        }
    in->sum = x;
    return 40 * BYTES;
}

static HOT uint64_t read_four(void *argument)
{
    struct input *in = argument;
    uint64_t a = in->sum, b = 0, c = 0, d = 0;
    for (unsigned turn = 0; turn < 40; turn++)
        for (unsigned i = 0; i < BYTES; i += 4) {
            TAKE(a, in->bytes[i]);
            TAKE(b, in->bytes[i + 1]);
            TAKE(c, in->bytes[i + 2]);
            TAKE(d, in->bytes[i + 3]);
        }
    in->sum = a ^ b ^ c ^ d;
    return 40 * BYTES;
}

int main(int argc, char **argv)
{
    static struct input in;
    return run_kernel("byte_merge", argc, argv, variant(argc, argv) ? read_four : read_words, &in);
}
