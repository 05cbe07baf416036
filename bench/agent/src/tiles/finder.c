// SPDX-License-Identifier: GPL-2.0-or-later
// The cheapest path between two tiles.
#include "tiles.h"
#include <stdlib.h>
#include <string.h>

enum { SLANT_NUMERATOR = 181, SLANT_SHIFT = 7, LEAST_COST = 10 };

void finder_open(Finder *finder, const Map *map)
{
    memset(finder, 0, sizeof *finder);
    finder->map = map;
    finder->open_room = 1024;
    finder->nodes = calloc((size_t)(map->width * map->height), sizeof *finder->nodes);
    finder->open = malloc((size_t)finder->open_room * sizeof *finder->open);
    if (!finder->nodes || !finder->open)
        abort();
}

void finder_close(Finder *finder)
{
    free(finder->nodes);
    free(finder->open);
}

// At least what the way from a tile that lies dx, dy from the goal costs.
static int32_t estimate(int dx, int dy)
{
    dx = abs(dx);
    dy = abs(dy);
    int less = dx < dy ? dx : dy, more = dx < dy ? dy : dx;
    return LEAST_COST * (more - less) + ((LEAST_COST * less * SLANT_NUMERATOR) >> SLANT_SHIFT);
}

static int write_path(const Finder *finder, int32_t start, int32_t goal, uint8_t *path, int room)
{
    int length = finder->nodes[goal].steps;
    int32_t tile = goal;
    for (int at = length - 1; at >= 0; at--) {
        int direction = finder->nodes[tile].from;
        if (at < room)
            path[at] = (uint8_t)direction;
        tile = map_neighbour(finder->map, tile, direction ^ 4);
    }
    return tile != start ? 0 : length < room ? length : room;
}

// Enters or improves a neighbour of an expanded tile.
static void relax(Finder *finder, int32_t tile, int32_t next, int direction, int32_t rest)
{
    const Map *map = finder->map;
    Node *node = &finder->nodes[tile], *other = &finder->nodes[next];
    int step = map_cost(map, next);
    if (step == 0)
        return;
    step += 6 * map->busy[next];
    if (direction & 1)
        step = (step * SLANT_NUMERATOR) >> SLANT_SHIFT;
    int32_t cost = node->cost + step;
    bool seen = other->search == finder->search;
    if (seen && (other->place < 0 || other->cost <= cost))
        return;
    other->search = finder->search;
    other->cost = cost;
    other->from = (uint8_t)direction;
    other->steps = (uint16_t)(node->steps + 1);
    if (seen)
        open_lower(finder, next, cost + rest);
    else
        open_put(finder, next, cost + rest);
}

// The directions of a path into `path`. Returns how many; 0: there is none.
int finder_path(Finder *finder, int32_t start, int32_t goal, uint8_t *path, int room)
{
    const Map *map = finder->map;
    int width = map->width, goal_x = goal % width, goal_y = goal / width;
    finder->search++;
    finder->open_count = 0;
    finder->nodes[start] = (Node){.search = finder->search};
    open_put(finder, start, estimate(start % width - goal_x, start / width - goal_y));
    while (finder->open_count > 0) {
        int32_t tile = open_take(finder);
        if (tile == goal)
            return write_path(finder, start, goal, path, room);
        finder->expanded++;
        int x = tile % width - goal_x, y = tile / width - goal_y;
        for (int direction = 0; direction < 8; direction++) {
            int32_t rest = estimate(x + map_dx[direction], y + map_dy[direction]);
            relax(finder, tile, map_neighbour(map, tile, direction), direction, rest);
        }
    }
    return 0;
}
