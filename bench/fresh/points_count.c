/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads count how many pupils have reached how many points. A row of the table has the counters of both threads for
 * some points. Variant 1: the first half of the table is one thread's, the second half the other one's. */
#include "pair.h"

enum { POINTS = 256, PUPILS = 8192 };

struct school {
    _Alignas(128) uint8_t pupils[PUPILS];
    uint32_t *counts;
    int step;
};

HOT static void count_points(const uint8_t *pupils, uint32_t *counts, int step)
{
    for (int i = 0; i < PUPILS; i++)
        counts[pupils[i] * step]++;
}

static uint64_t turn(void *argument)
{
    struct school *s = argument;
    count_points(s->pupils, s->counts, s->step);
    return PUPILS;
}

int main(int argc, char **argv)
{
    static _Alignas(128) uint32_t table[2 * POINTS];
    static struct school schools[2];
    int halves = variant(argc, argv);
    uint64_t seed = 4768777513237032717u;
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < PUPILS; i++)
            schools[s].pupils[i] = (uint8_t)((next_random(&seed) >> 40) % POINTS);
        schools[s].counts = table + s * (halves ? POINTS : 1);
        schools[s].step = halves ? 1 : 2;
    }
    return run_pair("points_count", argc, argv, turn, &schools[0], &schools[1]);
}
