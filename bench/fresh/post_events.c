/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ring of events, each a kind and a value of 32 bits. They are written as two words and taken out as one of 64
 * bits at once. Variant 1: taken out as two words, too, and put together. */
#include "../kernels/kernel.h"

enum { SLOTS = 64, EVENTS = 65536 };

struct event {
    uint32_t kind, value;
};

struct queue {
    struct event *ring;
    uint64_t state;
    int halves;
};

HOT static uint64_t post(struct event *ring, uint64_t state)
{
    for (uint32_t i = 0; i < EVENTS; i++) {
        struct event *e = &ring[i % SLOTS];
        e->kind = (uint32_t)state & 0xffff;
        e->value = (uint32_t)(state >> 16) + i;
        __asm__ volatile("" ::: "memory");
        uint64_t both;
        memcpy(&both, e, 8);
        state = both + (both >> 7) + i;
    }
    return state;
}

HOT static uint64_t post_halves(struct event *ring, uint64_t state)
{
    for (uint32_t i = 0; i < EVENTS; i++) {
        struct event *e = &ring[i % SLOTS];
        e->kind = (uint32_t)state & 0xffff;
        e->value = (uint32_t)(state >> 16) + i;
        __asm__ volatile("" ::: "memory");
        uint64_t both = *(volatile uint32_t *)&e->kind | (uint64_t) * (volatile uint32_t *)&e->value << 32;
        state = both + (both >> 7) + i;
    }
    return state;
}

static uint64_t turn(void *argument)
{
    struct queue *q = argument;
    q->state = (q->halves ? post_halves : post)(q->ring, q->state);
    return EVENTS;
}

int main(int argc, char **argv)
{
    struct queue q = {memory(SLOTS * sizeof(struct event), 0), 12345, variant(argc, argv)};
    return run_kernel("post_events", argc, argv, turn, &q);
}
