/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A game places its half a million nodes: each stands where its parent stands, plus its own offset. The
 * nodes of a level were made in any order, so a parent may be anywhere in the level above. Variant 1: the
 * same tree, siblings together and families in the order of their parents. */
#include "../kernels/kernel.h"

enum { LEVELS = 19, NODES = (1 << LEVELS) - 1 };

struct place {
    int32_t x, y, z, w;
};

struct node {
    uint32_t parent;
    int16_t x, y;
};

struct scene {
    struct place *world;
    struct node *nodes;
};

HOT static void place_nodes(struct place *world, const struct node *nodes)
{
    for (int i = 1; i < NODES; i++) {
        const struct node *n = &nodes[i];
        const struct place *p = &world[n->parent];
        world[i].x = p->x + n->x;
        world[i].y = p->y + n->y;
        world[i].z = p->z + 1;
        world[i].w = p->w ^ n->x;
    }
}

static uint64_t turn(void *argument)
{
    struct scene *s = argument;
    place_nodes(s->world, s->nodes);
    return NODES;
}

int main(int argc, char **argv)
{
    static struct scene s;
    uint64_t seed = 3202034522624059733u, sum = 0;
    uint32_t *position = memory(NODES * sizeof *position, 1);
    s.world = memory(NODES * sizeof *s.world, 1);
    s.nodes = memory(NODES * sizeof *s.nodes, 1);
    for (uint32_t i = 0; i < NODES; i++)
        position[i] = i;
    if (!variant(argc, argv))
        for (uint32_t first = 1; first < NODES; first = 2 * first + 1)
            for (uint32_t i = first; i > 0; i--) {
                uint32_t *a = &position[first + i],
                         *b = &position[first + (next_random(&seed) >> 20) % (i + 1)];
                uint32_t other = *a;
                *a = *b, *b = other;
            }
    for (uint32_t i = 0; i < NODES; i++)
        s.nodes[position[i]] = (struct node){i ? position[(i - 1) / 2] : 0, (int16_t)(i * 7919 % 201),
                                             (int16_t)(i * 104729 % 301)};
    s.world[0] = (struct place){5, 7, 0, 0};
    int status = run_kernel("scene_graph", argc, argv, turn, &s);
    for (int i = 0; i < NODES; i++)
        sum += (uint64_t)(s.world[i].x * 3 + s.world[i].y + s.world[i].z + s.world[i].w);
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
