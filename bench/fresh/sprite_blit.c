/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws a sprite of smoke on the screen: a pixel is transparent, opaque, or blended, as its alpha says, and
 * alpha is noise. Variant 1: the pixels of each sort lie together. */
#include "../kernels/kernel.h"

enum { PIXELS = 1 << 18 };

struct picture {
    uint32_t sprite[PIXELS], screen[PIXELS];
};

HOT static void blit(uint32_t *screen, const uint32_t *sprite)
{
    for (int i = 0; i < PIXELS; i++) {
        uint32_t s = sprite[i], alpha = s >> 24;
        if (alpha == 0)
            continue;
        if (alpha == 255) {
            screen[i] = s;
            continue;
        }
        uint32_t d = screen[i], rest = 255 - alpha;
        uint32_t odd = ((s & 0xff00ff) * alpha + (d & 0xff00ff) * rest) >> 8 & 0xff00ff;
        uint32_t even = ((s >> 8 & 0xff) * alpha + (d >> 8 & 0xff) * rest) & 0xff00;
        screen[i] = odd | even;
    }
}

static uint64_t turn(void *argument)
{
    struct picture *p = argument;
    blit(p->screen, p->sprite);
    return PIXELS;
}

static int sort_of(uint32_t pixel)
{
    return (pixel >> 24 > 0) + (pixel >> 24 == 255);
}

static int by_sort(const void *a, const void *b)
{
    return sort_of(*(const uint32_t *)a) - sort_of(*(const uint32_t *)b);
}

int main(int argc, char **argv)
{
    static struct picture p;
    uint64_t seed = 6364136223846793005u, sum = 0;
    for (int i = 0; i < PIXELS; i++) {
        uint64_t r = next_random(&seed);
        uint32_t alphas[] = {0, 255, 1 + (uint32_t)(r >> 20) % 254};
        p.sprite[i] = alphas[(r >> 44) % 3] << 24 | ((uint32_t)(r >> 8) & 0xffffff);
        p.screen[i] = 0x203040;
    }
    if (variant(argc, argv))
        qsort(p.sprite, PIXELS, sizeof p.sprite[0], by_sort);
    int status = run_kernel("sprite_blit", argc, argv, turn, &p);
    for (int i = 0; i < PIXELS; i++)
        sum += p.screen[i];
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
