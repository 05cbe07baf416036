/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys of an index of events in space and time: the bits of four coordinates, interleaved (Morton order). Variant 1: the
 * bits are only cut off. */
#include "../kernels/kernel.h"

enum { EVENTS = 512, REPEATS = 128 };

struct event {
    uint32_t x, y, z, time;
};

struct index {
    struct event events[EVENTS];
    uint64_t keys[EVENTS];
    int plain;
};

static const uint64_t FOURTH = 0x1111111111111111u;

HOT __attribute__((target("bmi2"))) static void make_keys(struct index *x)
{
    for (int i = 0; i < EVENTS; i++) {
        const struct event *e = &x->events[i];
        x->keys[i] = __builtin_ia32_pdep_di(e->x, FOURTH) | __builtin_ia32_pdep_di(e->y, FOURTH << 1) |
                     __builtin_ia32_pdep_di(e->z, FOURTH << 2) | __builtin_ia32_pdep_di(e->time, FOURTH << 3);
    }
}

HOT static void cut_keys(struct index *x)
{
    for (int i = 0; i < EVENTS; i++) {
        const struct event *e = &x->events[i];
        x->keys[i] = (e->x & FOURTH) | (e->y & FOURTH << 1) | (e->z & FOURTH << 2) | (e->time & FOURTH << 3);
    }
}

static uint64_t turn(void *argument)
{
    struct index *x = argument;
    for (int i = 0; i < REPEATS; i++)
        (x->plain ? cut_keys : make_keys)(x);
    return EVENTS * REPEATS;
}

int main(int argc, char **argv)
{
    static struct index x;
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < EVENTS; i++)
        x.events[i] = (struct event){(uint16_t)next_random(&seed), (uint16_t)next_random(&seed),
                                     (uint16_t)next_random(&seed), (uint16_t)next_random(&seed)};
    x.plain = variant(argc, argv);
    return run_kernel("cell_keys", argc, argv, turn, &x);
}
