/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of a protocol: headers are written by parts and read as words, a checksum runs in a chain, each frame is
 * published in total order. No cause has more than half of the time. Variants 1 to 3 remove the failed forwards,
 * the chain and the order. */
#include "../kernels/kernel.h"

enum { HEADERS = 600, LETTERS = 4000, FRAMES = 600 };

struct frames {
    union {
        uint32_t part[2];
        uint64_t whole;
    } header[64];
    uint8_t letters[LETTERS];
    uint64_t hash, head, slots[64];
    int whole, side_by_side, release;
};

static HOT uint64_t send_frames(void *argument)
{
    struct frames *f = argument;
    volatile struct frames *v = argument;
    uint64_t h = f->hash, g = 1, e = 2, d = 3, sum = 0;
    if (f->whole)
        for (unsigned i = 0; i < HEADERS; i++) {
            v->header[i & 63].whole = (uint64_t)i << 32 | i;
            sum += v->header[i & 63].whole;
        }
    else
        for (unsigned i = 0; i < HEADERS; i++) {
            v->header[i & 63].part[0] = i;
            v->header[i & 63].part[1] = i;
            sum += v->header[i & 63].whole;
        }
    if (f->side_by_side)
        for (unsigned i = 0; i < LETTERS; i += 4) {
            h = (h ^ f->letters[i]) * 0x100000001b3, g = (g ^ f->letters[i + 1]) * 0x100000001b3;
            e = (e ^ f->letters[i + 2]) * 0x100000001b3, d = (d ^ f->letters[i + 3]) * 0x100000001b3;
        }
    else
        for (unsigned i = 0; i < LETTERS; i++)
            h = (h ^ f->letters[i]) * 0x100000001b3;
    if (f->release)
        for (unsigned i = 0; i < FRAMES; i++) {
            f->slots[i & 63] = i;
            __atomic_store_n(&f->head, i, __ATOMIC_RELEASE);
        }
    else
        for (unsigned i = 0; i < FRAMES; i++) {
            f->slots[i & 63] = i;
            __atomic_store_n(&f->head, i, __ATOMIC_SEQ_CST);
        }
    f->hash = h ^ g ^ e ^ d ^ sum;
    return FRAMES;
}

int main(int argc, char **argv)
{
    static struct frames f;
    int without = variant(argc, argv);
    f.whole = without == 1, f.side_by_side = without == 2, f.release = without == 3;
    return run_kernel("mixed_frames", argc, argv, send_frames, &f);
}
