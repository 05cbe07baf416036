// SPDX-License-Identifier: GPL-2.0-or-later
// A snapshot: all keys with their values in one file.
#include "keyval.h"
#include <stdio.h>
#include <string.h>

bool snapshot_write(const Store *store, uint64_t *digest)
{
    FILE *file = tmpfile();
    if (!file)
        return false;
    uint64_t sum = 0;
    for (uint32_t i = 0; i <= store->table.mask; i++) {
        const Slot *slot = &store->table.slots[i];
        if (slot->state != SLOT_USED)
            continue;
        uint32_t check = checksum(slot->value, slot->length);
        fwrite(slot->key, 1, strlen(slot->key) + 1, file);
        fwrite(&slot->length, sizeof slot->length, 1, file);
        fwrite(&check, sizeof check, 1, file);
        fwrite(slot->value, 1, slot->length, file);
        sum += ((uint64_t)check ^ slot->hash) * 0x9e3779b97f4a7c15u; // in any order
    }
    *digest = (*digest ^ sum) * 1099511628211u;
    return fclose(file) == 0;
}
