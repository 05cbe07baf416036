// SPDX-License-Identifier: GPL-2.0-or-later
// The table of keys: open addressing; a deleted key leaves its slot dead until the table is built again.
#include "keyval.h"
#include <stdlib.h>
#include <string.h>

void table_open(Table *table, uint32_t room)
{
    memset(table, 0, sizeof *table);
    table->mask = 63;
    while (table->mask < room)
        table->mask = 2 * table->mask + 1;
    table->slots = calloc(table->mask + 1, sizeof *table->slots);
    if (!table->slots)
        abort();
}

void table_close(Table *table)
{
    for (uint32_t i = 0; i <= table->mask; i++)
        free(table->slots[i].value);
    free(table->slots);
}

static uint32_t hash_of(const char *key)
{
    uint32_t hash = 2166136261u;
    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 16777619u;
    return hash ^ hash >> 15;
}

// Moves the used slots to a new table of the room that they need.
static void rebuild(Table *table)
{
    Table old = *table;
    table->mask = old.used > old.mask / 2 ? 2 * old.mask + 1 : old.mask;
    table->slots = calloc(table->mask + 1, sizeof *table->slots);
    if (!table->slots)
        abort();
    for (uint32_t i = 0; i <= old.mask; i++) {
        if (old.slots[i].state != SLOT_USED)
            continue;
        uint32_t at = old.slots[i].hash & table->mask;
        while (table->slots[at].state != SLOT_FREE)
            at = (at + 1) & table->mask;
        table->slots[at] = old.slots[i];
    }
    table->dead = 0;
    free(old.slots);
}

static Slot *find(const Table *table, const char *key, uint32_t hash)
{
    for (uint32_t at = hash & table->mask; table->slots[at].state != SLOT_FREE; at = (at + 1) & table->mask) {
        Slot *slot = &table->slots[at];
        if (slot->state == SLOT_USED && slot->hash == hash && strcmp(slot->key, key) == 0)
            return slot;
    }
    return NULL;
}

Slot *table_find(const Table *table, const char *key)
{
    return find(table, key, hash_of(key));
}

static void set_value(Slot *slot, const uint8_t *value, uint16_t length)
{
    if (slot->length != length || !slot->value) {
        free(slot->value);
        slot->value = malloc(length ? length : 1);
        if (!slot->value)
            abort();
    }
    memcpy(slot->value, value, length);
    slot->length = length;
}

void table_put(Table *table, const char *key, const uint8_t *value, uint16_t length)
{
    uint32_t hash = hash_of(key);
    Slot *slot = find(table, key, hash);
    if (slot) {
        set_value(slot, value, length);
        return;
    }
    if (table->used + table->dead > table->mask - table->mask / 4)
        rebuild(table);
    uint32_t at = hash & table->mask;
    while (table->slots[at].state == SLOT_USED)
        at = (at + 1) & table->mask;
    slot = &table->slots[at];
    if (slot->state == SLOT_DEAD)
        table->dead--;
    slot->state = SLOT_USED;
    slot->hash = hash;
    strncpy(slot->key, key, KEY_LENGTH);
    table->used++;
    set_value(slot, value, length);
}

bool table_delete(Table *table, const char *key)
{
    Slot *slot = table_find(table, key);
    if (!slot)
        return false;
    free(slot->value);
    slot->value = NULL;
    slot->length = 0;
    slot->state = SLOT_DEAD;
    table->used--;
    table->dead++;
    return true;
}
