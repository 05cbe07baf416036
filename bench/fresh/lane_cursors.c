/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads read lanes of a film scan. Each lane has a cursor with its place, its end and its sum, which is read and written for
 * each byte; the cursors of both lie in one array. Variant 1: 256 bytes apart. */
#define DEFAULT_SECONDS 6
#include "pair.h"

enum { LANE = 4096, APART = 256 };

struct cursor {
    uint32_t place, end;
    uint64_t sum;
};

struct lane {
    struct cursor *cursor;
    uint8_t bytes[LANE];
};

HOT static void scan(struct cursor *c, const uint8_t *bytes)
{
    while (__atomic_load_n(&c->place, __ATOMIC_RELAXED) < __atomic_load_n(&c->end, __ATOMIC_RELAXED)) {
        uint32_t place = __atomic_load_n(&c->place, __ATOMIC_RELAXED);
        uint64_t sum = __atomic_load_n(&c->sum, __ATOMIC_RELAXED);
        __atomic_store_n(&c->sum, sum + bytes[place], __ATOMIC_RELAXED);
        __atomic_store_n(&c->place, place + 1, __ATOMIC_RELAXED);
    }
}

static uint64_t turn(void *argument)
{
    struct lane *l = argument;
    l->cursor->place = 0;
    scan(l->cursor, l->bytes);
    return LANE;
}

int main(int argc, char **argv)
{
    static _Alignas(256) char cursors[2 * APART];
    static struct lane lanes[2];
    size_t apart = variant(argc, argv) ? APART : sizeof(struct cursor);
    for (size_t l = 0; l < 2; l++) {
        lanes[l].cursor = (struct cursor *)(void *)(cursors + l * apart);
        lanes[l].cursor->end = LANE;
        for (int i = 0; i < LANE; i++)
            lanes[l].bytes[i] = (uint8_t)(i * 37);
    }
    return run_pair("lane_cursors", argc, argv, turn, &lanes[0], &lanes[1]);
}
