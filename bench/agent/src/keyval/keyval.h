// SPDX-License-Identifier: GPL-2.0-or-later
// Keys and values in memory; every change goes to a journal first, and now and then all of them to a snapshot.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEY_LENGTH = 23, GROUP = 16384, JOURNAL_ROOM = 192 * 1024, ARENA_ROOM = 1024 * 1024 };

typedef enum { SLOT_FREE, SLOT_USED, SLOT_DEAD } SlotState;

typedef struct {
    uint32_t hash;
    uint16_t state;
    uint16_t length; // of the value
    char key[KEY_LENGTH + 1];
    uint8_t *value;
} Slot;

typedef struct {
    Slot *slots;
    uint32_t mask, used, dead;
} Table;

typedef enum { CHANGE_PUT = 1, CHANGE_DELETE = 2 } ChangeKind;

typedef struct {
    int file;
    uint8_t *bytes;
    size_t filled;
    uint32_t waiting; // changes since the last sync
    uint64_t written, sequence;
} Journal;

// Memory for what lives as long as one batch of changes.
typedef struct {
    uint8_t *bytes;
    size_t taken;
} Arena;

typedef struct {
    char key[KEY_LENGTH + 1];
    const uint8_t *value; // in the arena
    uint16_t length;
    ChangeKind kind;
} Change;

typedef struct {
    Table table;
    Journal journal;
    Arena arena;
    Change *changes;
    uint32_t change_count, change_room;
    uint64_t hits, misses;
} Store;

// table.c
void table_open(Table *table, uint32_t room);
void table_close(Table *table);
Slot *table_find(const Table *table, const char *key);
void table_put(Table *table, const char *key, const uint8_t *value, uint16_t length);
bool table_delete(Table *table, const char *key);

// arena.c
void arena_open(Arena *arena);
void arena_close(Arena *arena);
void arena_reset(Arena *arena);
uint8_t *arena_copy(Arena *arena, const uint8_t *bytes, size_t length);
size_t arena_left(const Arena *arena);

// journal.c
bool journal_open(Journal *journal);
void journal_close(Journal *journal);
bool journal_add(Journal *journal, const Change *change);
bool journal_commit(Journal *journal);
uint32_t checksum(const uint8_t *bytes, size_t length);

// store.c
bool store_open(Store *store, uint32_t room);
void store_close(Store *store);
bool store_put(Store *store, const char *key, const uint8_t *value, uint16_t length);
bool store_delete(Store *store, const char *key);
bool store_apply(Store *store);
const Slot *store_get(Store *store, const char *key);

// snapshot.c
bool snapshot_write(const Store *store, uint64_t *digest);
