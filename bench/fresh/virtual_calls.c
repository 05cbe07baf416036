/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums areas of objects of eight kinds in random order, by a function pointer each. Variant: sorted by kind. */
#include "../kernels/kernel.h"

enum { OBJECTS = 1 << 14, KINDS = 8 };

struct object {
    uint64_t (*area)(const struct object *);
    uint64_t a, b;
};

#define KIND(n, expression)                                                                                  \
    static HOT uint64_t area_##n(const struct object *o)                                                     \
    {                                                                                                        \
        return expression;                                                                                   \
    }
KIND(0, o->a + o->b)
KIND(1, o->a - o->b)
KIND(2, o->a ^ o->b)
KIND(3, o->a | o->b)
KIND(4, o->a & o->b)
KIND(5, o->a + 2 * o->b)
KIND(6, o->a - 2 * o->b)
KIND(7, o->a * 3 + o->b)

static uint64_t (*const kinds[KINDS])(const struct object *) = {area_0, area_1, area_2, area_3,
                                                                area_4, area_5, area_6, area_7};

struct scene {
    uint64_t sum;
    struct object objects[OBJECTS];
};

static HOT uint64_t sum_areas(void *argument)
{
    struct scene *s = argument;
    uint64_t sum = 0;
    for (unsigned turn = 0; turn < 10; turn++)
        for (unsigned i = 0; i < OBJECTS; i++)
            sum += s->objects[i].area(&s->objects[i]);
    s->sum += sum;
    return 10 * OBJECTS;
}

int main(int argc, char **argv)
{
    static struct scene s;
    uint64_t seed = 815;
    for (unsigned i = 0; i < OBJECTS; i++) {
        const unsigned kind =
            variant(argc, argv) ? i / (OBJECTS / KINDS) : (unsigned)(next_random(&seed) >> 40) % KINDS;
        s.objects[i] = (struct object){kinds[kind], i, next_random(&seed)};
    }
    return run_kernel("virtual_calls", argc, argv, sum_areas, &s);
}
