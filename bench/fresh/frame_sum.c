/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the header of a frame byte by byte and adds it up in words of eight bytes at once after that. Variant: the
 * word is built in a register. */
#include "../kernels/kernel.h"

struct frame {
    uint8_t header[16];
    uint64_t sum, sequence;
    int whole;
};

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    __asm__ volatile("" ::: "memory");
    p[1] = (uint8_t)v;
    __asm__ volatile("" ::: "memory");
}

static HOT uint64_t send_headers(void *argument)
{
    struct frame *f = argument;
    uint64_t sum = f->sum;
    for (unsigned i = 0; i < ITERATIONS_A_CALL / 2; i++) {
        unsigned length = (unsigned)(f->sequence++ & 1023), port = (unsigned)(sum & 255);
        uint64_t word;
        if (f->whole) {
            word = (uint64_t)__builtin_bswap16((uint16_t)length) |
                   (uint64_t)__builtin_bswap16((uint16_t)port) << 16 |
                   (uint64_t)__builtin_bswap16((uint16_t)(length ^ 77)) << 32 | (uint64_t)0x108 << 48;
            memcpy(f->header, &word, 8);
        } else {
            put16(f->header, length);
            put16(f->header + 2, port);
            put16(f->header + 4, length ^ 77);
            put16(f->header + 6, 0x801);
            memcpy(&word, f->header, 8);
        }
        sum += word;
        sum = (sum >> 32) + (sum & 0xffffffff);
    }
    f->sum = sum;
    return ITERATIONS_A_CALL / 2;
}

int main(int argc, char **argv)
{
    static struct frame f;
    f.whole = variant(argc, argv);
    return run_kernel("frame_sum", argc, argv, send_headers, &f);
}
