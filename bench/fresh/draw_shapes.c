/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls a method of each shape of a scene through its table; the shapes are of six kinds in random order.
 * Variant: sorted by kind. */
#include "../kernels/kernel.h"

enum { SHAPES = 1 << 16 };

struct shape;
typedef uint32_t method(const struct shape *);
struct shape {
    method *const *table;
    uint16_t a, b, c, d;
};

#define METHOD(name, value)                                                                                  \
    static HOT uint32_t name(const struct shape *s)                                                          \
    {                                                                                                        \
        return (uint32_t)(value);                                                                            \
    }
METHOD(square, s->a * s->a)
METHOD(box, s->a * s->b)
METHOD(triangle, s->a * s->b / 2)
METHOD(line, s->c + s->d)
METHOD(circle, s->a * s->a * 355 / 113)
METHOD(point, s->a > 0)

static method *const tables[6][1] = {{square}, {box}, {triangle}, {line}, {circle}, {point}};

struct scene {
    struct shape shapes[SHAPES];
    uint64_t area;
};

static HOT uint64_t draw(void *argument)
{
    struct scene *scene = argument;
    uint64_t area = 0;
    for (unsigned i = 0; i < SHAPES; i++) {
        const struct shape *s = &scene->shapes[i];
        area += s->table[0](s);
    }
    scene->area += area;
    return SHAPES;
}

int main(int argc, char **argv)
{
    static struct scene scene;
    uint64_t seed = 88172645463325252;
    for (unsigned i = 0; i < SHAPES; i++) {
        unsigned kind = variant(argc, argv) ? i * 6 / SHAPES : (unsigned)(next_random(&seed) % 6);
        scene.shapes[i] = (struct shape){tables[kind], (uint16_t)i, (uint16_t)(i >> 3), 3, 4};
    }
    return run_kernel("draw_shapes", argc, argv, draw, &scene);
}
