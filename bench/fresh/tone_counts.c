/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads count the tones of a picture, each of its own half. A tone's two counters are neighbours.
 * Variant 1: all counters of a thread lie together. */
#include "pair.h"

enum { TONES = 64, PIXELS = 16384 };

struct half {
    uint8_t pixels[PIXELS];
    uint32_t *counts;
    size_t step;
};

HOT static void count_tones(const uint8_t *pixels, uint32_t *counts, size_t step)
{
    for (int i = 0; i < PIXELS; i++)
        counts[(pixels[i] >> 2) * step]++;
}

static uint64_t turn(void *argument)
{
    struct half *h = argument;
    count_tones(h->pixels, h->counts, h->step);
    return PIXELS;
}

int main(int argc, char **argv)
{
    _Alignas(4096) static uint32_t counts[4 * TONES];
    static struct half halves[2];
    uint64_t seed = 1181783497276652981u;
    int apart = variant(argc, argv);
    for (int h = 0; h < 2; h++) {
        for (int i = 0; i < PIXELS; i++)
            halves[h].pixels[i] = (uint8_t)(next_random(&seed) >> 40);
        halves[h].counts = counts + (apart ? 2 * TONES * h : h);
        halves[h].step = apart ? 1 : 2;
    }
    return run_pair("tone_counts", argc, argv, turn, &halves[0], &halves[1]);
}
