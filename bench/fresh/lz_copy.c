/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies matches of a decompressor by eight bytes at a time from a distance of twelve: each load needs two
 * stores that came just before. Variant: a distance of 64. */
#include "../kernels/kernel.h"

struct window {
    uint64_t distance;
    char bytes[8192];
};

static HOT uint64_t copy_match(void *argument)
{
    struct window *w = argument;
    uint64_t distance = w->distance;
    for (unsigned turn = 0; turn < 100; turn++)
        for (char *to = w->bytes + 64; to < w->bytes + 8192 - 8; to += 8) {
            uint64_t eight;
            memcpy(&eight, to - distance, 8);
            memcpy(to, &eight, 8);
        }
    return 100 * ((8192 - 64 - 8 + 7) / 8);
}

int main(int argc, char **argv)
{
    static struct window w;
    w.distance = variant(argc, argv) ? 64 : 12;
    for (unsigned i = 0; i < 64; i++)
        w.bytes[i] = (char)i;
    return run_kernel("lz_copy", argc, argv, copy_match, &w);
}
