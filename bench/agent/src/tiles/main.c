// SPDX-License-Identifier: GPL-2.0-or-later
// Lets some hundred carriers go about a map for a while: main ROUNDS MOVES
#include "tiles.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 480, HEIGHT = 360, CARRIERS = 300, REACH = 80, WAIT = 40 };

typedef struct {
    Map map;
    Finder finder;
    Schedule schedule;
    Carrier carriers[CARRIERS];
    uint64_t state;
} World;

static uint32_t draw(World *world, uint32_t limit)
{
    world->state ^= world->state << 13;
    world->state ^= world->state >> 7;
    world->state ^= world->state << 17;
    return (uint32_t)((world->state >> 22) % limit);
}

// A tile somewhere around another one that can be entered.
static int32_t some_tile(World *world, int x, int y, int reach)
{
    for (;;) {
        int to_x = x - reach + (int)draw(world, (uint32_t)(2 * reach)),
            to_y = y - reach + (int)draw(world, (uint32_t)(2 * reach));
        if (to_x < 1 || to_y < 1 || to_x >= WIDTH - 1 || to_y >= HEIGHT - 1)
            continue;
        int32_t tile = map_tile(&world->map, to_x, to_y);
        if (map_cost(&world->map, tile) > 0)
            return tile;
    }
}

static void world_open(World *world, uint64_t seed)
{
    map_open(&world->map, WIDTH, HEIGHT, seed);
    finder_open(&world->finder, &world->map);
    schedule_open(&world->schedule);
    world->state = seed * 2685821657736338717u + 88172645463325252u;
    for (int i = 0; i < CARRIERS; i++) {
        Carrier *carrier = &world->carriers[i];
        *carrier = (Carrier){.tile = some_tile(world, WIDTH / 2, HEIGHT / 2, HEIGHT / 2)};
        carrier->goal = carrier->tile;
        world->map.busy[carrier->tile]++;
        schedule_put(&world->schedule, draw(world, WAIT), i);
    }
}

static void world_close(World *world)
{
    schedule_close(&world->schedule);
    finder_close(&world->finder);
    map_close(&world->map);
}

static void plan(World *world, Carrier *carrier)
{
    if (carrier->tile == carrier->goal)
        carrier->goal = some_tile(world, carrier->tile % WIDTH, carrier->tile / WIDTH, REACH);
    carrier->path_at = 0;
    carrier->path_length =
        finder_path(&world->finder, carrier->tile, carrier->goal, carrier->path, PATH_LENGTH);
    if (carrier->path_length == 0)
        carrier->goal = carrier->tile;
}

// One step of a carrier. Returns the time until its next one.
static uint64_t move(World *world, Carrier *carrier)
{
    Map *map = &world->map;
    if (carrier->path_at == carrier->path_length) {
        if (carrier->path_length > 0 && carrier->tile == carrier->goal)
            carrier->arrived++;
        plan(world, carrier);
        return WAIT;
    }
    int32_t next = map_neighbour(map, carrier->tile, carrier->path[carrier->path_at]);
    if (map->busy[next] > 1) {
        carrier->waited++;
        carrier->path_length = carrier->path_at;
        return WAIT;
    }
    map->busy[carrier->tile]--;
    map->busy[next]++;
    carrier->tile = next;
    carrier->path_at++;
    carrier->walked++;
    return (uint64_t)map_cost(map, next);
}

static uint64_t summary(const World *world)
{
    uint64_t hash = 14695981039346656037u, walked = 0, arrived = 0, waited = 0;
    for (int i = 0; i < CARRIERS; i++) {
        const Carrier *carrier = &world->carriers[i];
        hash = (hash ^ (uint64_t)carrier->tile ^ (uint64_t)carrier->walked << 32) * 1099511628211u;
        walked += carrier->walked;
        arrived += carrier->arrived;
        waited += carrier->waited;
    }
    printf("%" PRIu64 " steps, %" PRIu64 " arrivals, %" PRIu64 " waits, %" PRIu64 " tiles expanded\n", walked,
           arrived, waited, world->finder.expanded);
    return hash;
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 1, moves = count > 2 ? atoi(arguments[2]) : 800000;
    for (int round = 0; round < rounds; round++) {
        static World world;
        world_open(&world, (uint64_t)round + 7);
        for (int i = 0; i < moves; i++) {
            Event event;
            if (!schedule_take(&world.schedule, &event))
                break;
            schedule_put(&world.schedule, event.time + move(&world, &world.carriers[event.carrier]),
                         event.carrier);
        }
        printf("%016" PRIx64 "\n", summary(&world));
        world_close(&world);
    }
    return 0;
}
