// SPDX-License-Identifier: GPL-2.0-or-later
// Carriers on a map of tiles: each finds its way to a goal, walks it, and gets the next one.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { PATH_LENGTH = 512, STEP_LIMIT = 255 };

// The map has a border of tiles that nobody can enter.
typedef struct {
    int width, height;
    uint8_t *heights;
    uint8_t *busy; // carriers on the tile
    uint16_t step_cost[256];
} Map;

typedef struct {
    int32_t cost;    // from the start
    uint32_t search; // the last search that saw it
    int32_t place;   // in the open list, -1: closed
    uint8_t from;    // the direction it was entered in
    uint8_t reserved;
    uint16_t steps;
} Node;

typedef struct {
    int32_t tile;
    int32_t estimate;
} Open;

typedef struct {
    const Map *map;
    Node *nodes;
    Open *open;
    int open_count, open_room;
    uint32_t search;
    uint64_t expanded;
} Finder;

typedef struct {
    int32_t tile, goal;
    int path_length, path_at;
    uint8_t path[PATH_LENGTH]; // directions
    uint32_t walked, arrived, waited;
} Carrier;

typedef struct {
    uint64_t time;
    uint32_t order;
    int32_t carrier;
} Event;

typedef struct {
    Event *events;
    int count, room;
    uint32_t order;
} Schedule;

// map.c
void map_open(Map *map, int width, int height, uint64_t seed);
void map_close(Map *map);
extern const int8_t map_dx[8], map_dy[8];

static inline int32_t map_tile(const Map *map, int x, int y)
{
    return y * map->width + x;
}

static inline int32_t map_neighbour(const Map *map, int32_t tile, int direction)
{
    return tile + map_dy[direction] * map->width + map_dx[direction];
}

// What a step onto a tile costs; 0: nobody can enter it.
static inline int map_cost(const Map *map, int32_t tile)
{
    return map->step_cost[map->heights[tile]];
}

// finder.c
void finder_open(Finder *finder, const Map *map);
void finder_close(Finder *finder);
int finder_path(Finder *finder, int32_t start, int32_t goal, uint8_t *path, int room);

// open.c: the open list, a heap
void open_put(Finder *finder, int32_t tile, int32_t estimate);
void open_lower(Finder *finder, int32_t tile, int32_t estimate);
int32_t open_take(Finder *finder);

// schedule.c
void schedule_open(Schedule *schedule);
void schedule_close(Schedule *schedule);
void schedule_put(Schedule *schedule, uint64_t time, int32_t carrier);
bool schedule_take(Schedule *schedule, Event *event);
