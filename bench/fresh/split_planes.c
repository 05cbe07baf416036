/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sixteen channels of a sound card come interleaved, and each goes to a plane of its own. The planes lie 4,096 bytes
 * apart. Variant 1: 4,160 bytes. */
#include "../kernels/kernel.h"

enum { CHANNELS = 16, FRAMES = 256, REPEATS = 32 };

struct card {
    int16_t *samples;
    uint8_t *planes;
    size_t pitch;
};

HOT static void separate(const struct card *c)
{
    const int16_t *from = c->samples;
    for (size_t i = 0; i < FRAMES; i++) {
        uint8_t *to = c->planes + 2 * i;
        for (int k = 0; k < CHANNELS; k++, to += c->pitch)
            *(int16_t *)to = *from++;
    }
}

static uint64_t turn(void *argument)
{
    for (int i = 0; i < REPEATS; i++)
        separate(argument);
    return FRAMES * CHANNELS * REPEATS;
}

int main(int argc, char **argv)
{
    size_t pitch = variant(argc, argv) ? 4160 : 4096;
    struct card c = {memory(FRAMES * CHANNELS * 2, 1), memory(CHANNELS * pitch, 1), pitch};
    return run_kernel("split_planes", argc, argv, turn, &c);
}
