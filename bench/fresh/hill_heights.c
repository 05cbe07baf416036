/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A survey asks for the height at each of its points, on a map of 128 MB on huge pages: 32 points anywhere on a sheet of 4 KB, then
 * another sheet. Every sheet has the same heights. Variant 1: the first two sheets are asked instead. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

enum { HEIGHTS = 1 << 26, SHEET = 2048, POINTS = 1 << 16, ON_A_SHEET = 32 };

struct survey {
    const uint16_t *heights;
    uint32_t mask, points[POINTS];
    uint64_t sum;
};

HOT static uint64_t ask(const uint16_t *heights, const uint32_t *points, uint32_t offset, uint32_t mask)
{
    uint64_t sum = 0;
    for (int i = 0; i < POINTS; i++)
        sum += heights[(points[i] ^ offset) & mask];
    return sum;
}

static uint64_t turn(void *argument)
{
    struct survey *s = argument;
    /* Each survey has other points. */
    s->sum += ask(s->heights, s->points, (uint32_t)s->sum * 2654435769u, s->mask);
    return POINTS;
}

int main(int argc, char **argv)
{
    static struct survey s;
    uint64_t seed = 4101842887655102017u;
    uint16_t *heights = memory(HEIGHTS * sizeof *heights, 1);
    for (int i = 0; i < HEIGHTS; i++)
        heights[i] = (uint16_t)(i % SHEET * 37);
    for (uint32_t i = 0, sheet = 0; i < POINTS; i++) {
        if (i % ON_A_SHEET == 0)
            sheet = (uint32_t)(next_random(&seed) >> 32) / SHEET;
        s.points[i] = sheet * SHEET + (uint32_t)(next_random(&seed) >> 53);
    }
    s.heights = heights;
    s.mask = variant(argc, argv) ? 2 * SHEET - 1 : HEIGHTS - 1;
    int status = run_kernel("hill_heights", argc, argv, turn, &s);
    printf("result=%llu\n", (unsigned long long)s.sum);
    return status;
}
