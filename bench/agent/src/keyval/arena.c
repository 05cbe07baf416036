// SPDX-License-Identifier: GPL-2.0-or-later
// One piece of memory that is given away in order and taken back at once.
#include "keyval.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void arena_open(Arena *arena)
{
    arena->bytes = mmap(NULL, ARENA_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (arena->bytes == MAP_FAILED)
        abort();
    arena->taken = 0;
}

void arena_close(Arena *arena)
{
    munmap(arena->bytes, ARENA_ROOM);
}

void arena_reset(Arena *arena)
{
    arena->taken = 0;
}

size_t arena_left(const Arena *arena)
{
    return ARENA_ROOM - arena->taken;
}

uint8_t *arena_copy(Arena *arena, const uint8_t *bytes, size_t length)
{
    uint8_t *place = arena->bytes + arena->taken;
    memcpy(place, bytes, length);
    arena->taken += (length + 15) & ~(size_t)15;
    return place;
}
