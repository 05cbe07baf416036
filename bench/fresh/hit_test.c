/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Positions of vehicles against a geofence, a convex polygon of six edges: a position is dropped at the first edge
 * that it lies outside of. The positions come in the order of their arrival. Variant 1: the same positions, ordered
 * by the edge that drops them. */
#include "../kernels/kernel.h"

enum { POSITIONS = 1 << 18, EDGES = 6 };

struct position {
    int16_t x, y;
};

struct fence {
    int x[EDGES], y[EDGES];
    struct position *at;
    volatile uint64_t inside;
};

static const int CORNERS[EDGES][2] = {{9000, 0},  {4500, 7800},   {-4500, 7800},
                                      {-9000, 0}, {-4500, -7800}, {4500, -7800}};

static inline int left_of(const struct fence *f, int edge, struct position p)
{
    int next = (edge + 1) % EDGES;
    return (f->x[next] - f->x[edge]) * (p.y - f->y[edge]) > (f->y[next] - f->y[edge]) * (p.x - f->x[edge]);
}

HOT static uint64_t count_inside(const struct fence *f)
{
    uint64_t inside = 0;
    for (int i = 0; i < POSITIONS; i++) {
        struct position p = f->at[i];
        if (left_of(f, 0, p) && left_of(f, 1, p) && left_of(f, 2, p) && left_of(f, 3, p) &&
            left_of(f, 4, p) && left_of(f, 5, p))
            inside++;
    }
    return inside;
}

static uint64_t turn(void *argument)
{
    struct fence *f = argument;
    f->inside += count_inside(f);
    return POSITIONS;
}

int main(int argc, char **argv)
{
    static struct fence f;
    static struct position all[POSITIONS];
    uint64_t seed = 88172645463325252u;
    for (int e = 0; e < EDGES; e++)
        f.x[e] = CORNERS[e][0], f.y[e] = CORNERS[e][1];
    for (int i = 0; i < POSITIONS; i++)
        all[i] = (struct position){(int16_t)(next_random(&seed) % 20000 - 10000),
                                   (int16_t)(next_random(&seed) % 20000 - 10000)};
    f.at = memory(sizeof all, 0);
    size_t n = 0;
    for (int dropped_by = 0; dropped_by <= EDGES; dropped_by++)
        for (int i = 0; i < POSITIONS; i++) {
            int edge = 0;
            while (edge < EDGES && left_of(&f, edge, all[i]))
                edge++;
            if (edge == dropped_by)
                f.at[n++] = all[i];
        }
    if (!variant(argc, argv))
        memcpy(f.at, all, sizeof all);
    return run_kernel("hit_test", argc, argv, turn, &f);
}
