/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user interface hands each event to its handler through a table of pointers. The four kinds come at random.
 * Variant 1: the same events, sorted by kind. */
#include "../kernels/kernel.h"

enum { EVENTS = 50000 };

struct event {
    uint16_t kind, x, y;
};

struct screen {
    struct event *events;
    uint64_t x, y, drawn, keys;
};

HOT static void on_key(struct screen *s, const struct event *e)
{
    s->keys = (s->keys << 3 | e->x) ^ e->y;
}

HOT static void on_move(struct screen *s, const struct event *e)
{
    s->x = (s->x * 3 + e->x) >> 2;
    s->y = (s->y * 3 + e->y) >> 2;
}

HOT static void on_draw(struct screen *s, const struct event *e)
{
    s->drawn += (uint64_t)e->x * e->y;
}

HOT static void on_resize(struct screen *s, const struct event *e)
{
    s->drawn ^= (uint64_t)e->x << 20 | e->y;
}

static void (*const handlers[4])(struct screen *, const struct event *) = {on_key, on_move, on_draw,
                                                                           on_resize};

HOT static void dispatch(struct screen *s)
{
    for (size_t i = 0; i < EVENTS; i++)
        handlers[s->events[i].kind](s, &s->events[i]);
}

static uint64_t turn(void *argument)
{
    dispatch(argument);
    return EVENTS;
}

int main(int argc, char **argv)
{
    uint64_t seed = 0x5DEECE66D1234567u;
    struct screen s = {.events = malloc(EVENTS * sizeof(struct event))};
    size_t count[4] = {0}, at = 0;
    for (size_t i = 0; i < EVENTS; i++) {
        s.events[i] =
            (struct event){(uint16_t)(next_random(&seed) >> 33 & 3), (uint16_t)(next_random(&seed) >> 40),
                           (uint16_t)(next_random(&seed) >> 40)};
        count[s.events[i].kind]++;
    }
    if (variant(argc, argv))
        for (uint16_t kind = 0; kind < 4; kind++)
            for (size_t k = 0; k < count[kind]; k++)
                s.events[at++].kind = kind;
    return run_kernel("ui_events", argc, argv, turn, &s);
}
