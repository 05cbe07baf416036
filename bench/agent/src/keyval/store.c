// SPDX-License-Identifier: GPL-2.0-or-later
// Changes are gathered to batches; a batch goes to the journal, then to the table.
#include "keyval.h"
#include <stdlib.h>
#include <string.h>

bool store_open(Store *store, uint32_t room)
{
    memset(store, 0, sizeof *store);
    table_open(&store->table, room);
    arena_open(&store->arena);
    return journal_open(&store->journal);
}

void store_close(Store *store)
{
    journal_close(&store->journal);
    arena_close(&store->arena);
    table_close(&store->table);
    free(store->changes);
}

static bool gather(Store *store, ChangeKind kind, const char *key, const uint8_t *value, uint16_t length)
{
    if (arena_left(&store->arena) < (size_t)length + 16 && !store_apply(store))
        return false;
    if (store->change_count == store->change_room) {
        store->change_room = store->change_room ? 2 * store->change_room : 64;
        store->changes = realloc(store->changes, store->change_room * sizeof *store->changes);
        if (!store->changes)
            abort();
    }
    Change *change = &store->changes[store->change_count++];
    memset(change->key, 0, sizeof change->key);
    strncpy(change->key, key, KEY_LENGTH);
    change->kind = kind;
    change->length = length;
    change->value = arena_copy(&store->arena, value, length);
    return true;
}

bool store_put(Store *store, const char *key, const uint8_t *value, uint16_t length)
{
    return gather(store, CHANGE_PUT, key, value, length);
}

bool store_delete(Store *store, const char *key)
{
    return gather(store, CHANGE_DELETE, key, (const uint8_t *)"", 0);
}

bool store_apply(Store *store)
{
    for (uint32_t i = 0; i < store->change_count; i++)
        if (!journal_add(&store->journal, &store->changes[i]))
            return false;
    if (!journal_commit(&store->journal))
        return false;
    for (uint32_t i = 0; i < store->change_count; i++) {
        const Change *change = &store->changes[i];
        if (change->kind == CHANGE_PUT)
            table_put(&store->table, change->key, change->value, change->length);
        else
            table_delete(&store->table, change->key);
    }
    store->change_count = 0;
    arena_reset(&store->arena);
    return true;
}

const Slot *store_get(Store *store, const char *key)
{
    const Slot *slot = table_find(&store->table, key);
    if (slot)
        store->hits++;
    else
        store->misses++;
    return slot;
}
