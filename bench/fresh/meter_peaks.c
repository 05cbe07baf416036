/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The highest reading of an hour among 6,000 electricity meters, each of which has its readings on a small page of its own. Their
 * lines fit into the second level. Variant 1: the lines follow one another. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

enum { METERS = 6000, PAGE = 4096, HOURS = 16, LINE = 64 };

struct grid {
    const uint32_t *readings[METERS];
    uint64_t peaks;
};

HOT static uint32_t peak(const uint32_t *const *readings, int hour)
{
    uint32_t highest = 0;
    for (int i = 0; i < METERS; i++) {
        uint32_t reading = readings[i][hour];
        highest = reading > highest ? reading : highest;
    }
    return highest;
}

static uint64_t turn(void *argument)
{
    struct grid *g = argument;
    for (int hour = 0; hour < HOURS; hour++)
        g->peaks += peak(g->readings, hour);
    return HOURS * METERS;
}

int main(int argc, char **argv)
{
    static struct grid g;
    uint64_t seed = 2305843009213693951u;
    size_t pitch = variant(argc, argv) ? LINE : PAGE, lines = pitch / LINE;
    char *pages = memory((size_t)METERS * PAGE, 0);
    for (size_t i = 0; i < METERS; i++) {
        uint32_t *readings =
            (uint32_t *)(void *)(pages + i * pitch + (next_random(&seed) >> 40) % lines * LINE);
        for (int hour = 0; hour < HOURS; hour++)
            readings[hour] = (uint32_t)(next_random(&seed) >> 36);
        g.readings[i] = readings;
    }
    /* The meters of a street are no neighbours in memory. */
    for (size_t i = METERS - 1; i > 0; i--) {
        size_t other = (next_random(&seed) >> 20) % (i + 1);
        const uint32_t *t = g.readings[i];
        g.readings[i] = g.readings[other];
        g.readings[other] = t;
    }
    int status = run_kernel("meter_peaks", argc, argv, turn, &g);
    printf("result=%llu\n", (unsigned long long)g.peaks);
    return status;
}
