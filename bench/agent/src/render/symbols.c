// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers for names.
#include "render.h"
#include <stdlib.h>
#include <string.h>

void symbols_open(Symbols *symbols)
{
    symbols->count = 0;
    memset(symbols->slots, -1, sizeof symbols->slots);
}

int symbols_number(Symbols *symbols, const char *name, size_t length)
{
    if (length > NAME_LENGTH)
        length = NAME_LENGTH;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    uint32_t slot = hash % (2 * SYMBOLS);
    for (; symbols->slots[slot] >= 0; slot = (slot + 1) % (2 * SYMBOLS)) {
        const char *there = symbols->names[symbols->slots[slot]];
        if (memcmp(there, name, length) == 0 && !there[length])
            return symbols->slots[slot];
    }
    if (symbols->count == SYMBOLS)
        abort();
    memcpy(symbols->names[symbols->count], name, length);
    symbols->names[symbols->count][length] = '\0';
    symbols->slots[slot] = (int16_t)symbols->count;
    return symbols->count++;
}
