/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a key to its index in an array of the caller's: open addressing, linear probing, at most half of the slots
 * taken. The map holds hashes and indexes only; the caller compares keys. All-zero is an empty map.
 *
 *     size_t step = 0;
 *     uint32_t i;
 *     while ((i = cs_map_next(&map, hash, &step)) != CS_MAP_NONE && !is_equal(&array[i], key))
 *         ;
 *     if (i == CS_MAP_NONE && cs_map_add(&map, hash, n) == 0) array[n++] = key;
 *
 * Keys come from strangers, too. Where a key lies depends on a number that nobody knows (hash_seed.h), so that nobody
 * can choose keys that meet. */
#pragma once

#include "store/base/hash_seed.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define CS_MAP_NONE UINT32_MAX

struct cs_map {
    struct cs_map_slot {
        uint32_t hash, number; /* the index and 1; 0: free */
    } * slots;
    size_t n_slots, n; /* n_slots is a power of two */
};

static inline uint64_t cs_map_text(const char *text)
{
    return XXH3_64bits_withSeed(text, strlen(text), cs_hash_seed);
}

static inline uint32_t cs_map_mixed(uint64_t hash)
{
    return (uint32_t)(hash * cs_hash_seed >> 32);
}

/* The next index whose key may be the one of `hash`; *step is 0 at first. CS_MAP_NONE: there are no more. */
static inline uint32_t cs_map_next(const struct cs_map *map, uint64_t hash, size_t *step)
{
    const uint32_t mixed = cs_map_mixed(hash);
    for (size_t mask = map->n_slots - 1; map->n_slots;) {
        const struct cs_map_slot *slot = &map->slots[(mixed + (*step)++) & mask];
        if (!slot->number)
            break;
        if (slot->hash == mixed)
            return slot->number - 1;
    }
    return CS_MAP_NONE;
}

static inline void cs_map_put(struct cs_map *map, uint32_t hash, uint32_t number)
{
    assert((map->n_slots & (map->n_slots - 1)) == 0 && 2 * map->n <= map->n_slots);
    size_t at = hash & (map->n_slots - 1);
    while (map->slots[at].number)
        at = (at + 1) & (map->n_slots - 1);
    map->slots[at] = (struct cs_map_slot){hash, number};
}

/* Adds a key that isn't there. 0 or -ENOMEM, and the map is as it was. */
static inline int cs_map_add(struct cs_map *map, uint64_t hash, uint32_t index)
{
    assert(index != CS_MAP_NONE);
    if (2 * (map->n + 1) > map->n_slots) {
        struct cs_map more = {.n_slots = map->n_slots ? 2 * map->n_slots : 64, .n = map->n};
        if (!(more.slots = calloc(more.n_slots, sizeof *more.slots)))
            return -ENOMEM;
        for (size_t i = 0; i < map->n_slots; i++)
            if (map->slots[i].number)
                cs_map_put(&more, map->slots[i].hash, map->slots[i].number);
        free(map->slots);
        *map = more;
    }
    cs_map_put(map, cs_map_mixed(hash), index + 1);
    map->n++;
    return 0;
}

/* Back to no keys; the space stays. */
static inline void cs_map_clear(struct cs_map *map)
{
    if (map->n_slots)
        memset(map->slots, 0, map->n_slots * sizeof *map->slots);
    map->n = 0;
}

static inline void cs_map_fini(struct cs_map *map)
{
    free(map->slots);
    *map = (struct cs_map){0};
}
