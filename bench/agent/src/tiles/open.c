// SPDX-License-Identifier: GPL-2.0-or-later
// The open list of a search: a binary heap whose nodes know their places in it.
#include "tiles.h"
#include <stdlib.h>

static void place(Finder *finder, int at, Open item)
{
    finder->open[at] = item;
    finder->nodes[item.tile].place = at;
}

static void rise(Finder *finder, int at, Open item)
{
    while (at > 0) {
        int parent = (at - 1) / 2;
        if (finder->open[parent].estimate <= item.estimate)
            break;
        place(finder, at, finder->open[parent]);
        at = parent;
    }
    place(finder, at, item);
}

static void sink(Finder *finder, Open item)
{
    int at = 0;
    for (;;) {
        int child = 2 * at + 1;
        if (child >= finder->open_count)
            break;
        if (child + 1 < finder->open_count)
            child += finder->open[child + 1].estimate < finder->open[child].estimate;
        if (finder->open[child].estimate >= item.estimate)
            break;
        place(finder, at, finder->open[child]);
        at = child;
    }
    place(finder, at, item);
}

void open_put(Finder *finder, int32_t tile, int32_t estimate)
{
    if (finder->open_count == finder->open_room) {
        finder->open_room *= 2;
        finder->open = realloc(finder->open, (size_t)finder->open_room * sizeof *finder->open);
        if (!finder->open)
            abort();
    }
    rise(finder, finder->open_count++, (Open){tile, estimate});
}

// A better way to a tile that is in the list.
void open_lower(Finder *finder, int32_t tile, int32_t estimate)
{
    rise(finder, finder->nodes[tile].place, (Open){tile, estimate});
}

int32_t open_take(Finder *finder)
{
    int32_t tile = finder->open[0].tile;
    Open last = finder->open[--finder->open_count];
    if (finder->open_count > 0)
        sink(finder, last);
    finder->nodes[tile].place = -1;
    return tile;
}
