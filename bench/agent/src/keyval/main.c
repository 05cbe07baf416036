// SPDX-License-Identifier: GPL-2.0-or-later
// A day of a session store: puts, gets and deletes in batches: main ROUNDS BATCHES
#include "keyval.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SESSIONS = 60000, BATCH = 32, READS = 40, SNAPSHOT_EVERY = 15000, VALUE_LENGTH = 1200 };

static uint64_t state;

static uint32_t draw(uint32_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 22) % limit);
}

// Most of what happens happens to few sessions.
static void some_key(char *key, size_t size, uint32_t age)
{
    uint32_t number = draw(4) ? draw(SESSIONS / 8) : draw(SESSIONS);
    snprintf(key, size, "session:%08x", (age / 192 * 211 + number) * 2654435761u);
}

static uint16_t some_value(uint8_t *value)
{
    uint16_t length = (uint16_t)(40 + draw(200) + (draw(8) ? 0 : draw(VALUE_LENGTH - 240)));
    uint64_t word = state;
    for (uint16_t at = 0; at < length; at = (uint16_t)(at + sizeof word)) {
        word = word * 6364136223846793005u + 1442695040888963407u;
        memcpy(value + at, &word, sizeof word);
    }
    return length;
}

static bool run_batch(Store *store, uint32_t age, uint64_t *hash)
{
    char key[KEY_LENGTH + 1];
    uint8_t value[VALUE_LENGTH + 8];
    for (int i = 0; i < BATCH; i++) {
        some_key(key, sizeof key, age);
        bool good = draw(5) ? store_put(store, key, value, some_value(value)) : store_delete(store, key);
        if (!good)
            return false;
    }
    if (!store_apply(store))
        return false;
    for (int i = 0; i < READS; i++) {
        some_key(key, sizeof key, age);
        const Slot *slot = store_get(store, key);
        if (slot)
            *hash = (*hash ^ slot->value[slot->length / 2] ^ slot->length) * 1099511628211u;
    }
    return true;
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 1;
    uint32_t batches = count > 2 ? (uint32_t)atoi(arguments[2]) : 60000;
    uint64_t hash = 14695981039346656037u;
    for (int round = 0; round < rounds; round++) {
        Store store;
        state = 88172645463325252u + (uint64_t)round;
        if (!store_open(&store, SESSIONS)) {
            fprintf(stderr, "keyval: no journal\n");
            return 1;
        }
        for (uint32_t batch = 0; batch < batches; batch++)
            if (!run_batch(&store, batch, &hash) ||
                ((batch + 1) % SNAPSHOT_EVERY == 0 && !snapshot_write(&store, &hash))) {
                fprintf(stderr, "keyval: can't write\n");
                return 1;
            }
        printf("%u keys, %" PRIu64 " hits, %" PRIu64 " misses, %" PRIu64 " changes\n", store.table.used,
               store.hits, store.misses, store.journal.sequence);
        store_close(&store);
    }
    printf("%016" PRIx64 "\n", hash);
    return 0;
}
