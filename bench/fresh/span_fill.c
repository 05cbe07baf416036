/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The coverage of a scan line, as a font rasteriser adds it up: spans of one to twelve pixels, in the order of the
 * glyphs. Variant 1: the same spans, the short ones first. */
#include "../kernels/kernel.h"

enum { SPANS = 1 << 16, WIDTH = 4096, LONGEST = 12 };

struct span {
    uint16_t x;
    uint8_t length, cover;
};

struct line {
    struct span *spans;
    uint8_t pixels[WIDTH + LONGEST];
};

HOT static void fill_line(struct line *l)
{
    for (size_t i = 0; i < SPANS; i++) {
        struct span s = l->spans[i];
        uint8_t *p = l->pixels + s.x;
        unsigned k = s.length;
        do {
            *p = (uint8_t)(*p + s.cover);
            p++;
        } while (--k);
    }
}

static uint64_t turn(void *argument)
{
    fill_line(argument);
    return SPANS;
}

static int by_length(const void *a, const void *b)
{
    return ((const struct span *)a)->length - ((const struct span *)b)->length;
}

int main(int argc, char **argv)
{
    static struct line l;
    uint64_t seed = 362436069362436069u;
    l.spans = memory(SPANS * sizeof(struct span), 0);
    for (size_t i = 0; i < SPANS; i++)
        l.spans[i] = (struct span){(uint16_t)((next_random(&seed) >> 20) % WIDTH),
                                   (uint8_t)(1 + (next_random(&seed) >> 20) % LONGEST), (uint8_t)(1 + i % 7)};
    if (variant(argc, argv))
        qsort(l.spans, SPANS, sizeof(struct span), by_length);
    return run_kernel("span_fill", argc, argv, turn, &l);
}
