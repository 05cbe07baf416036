/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/placing/held_rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define HELD_BYTES_MAX (8UL << 20) /* some 25,000 rows with chains */

struct cs_held_row {
    struct cs_held_row *next;
    struct cs_driver_entry entry;
    size_t bytes;
    uint64_t chain[];
};

bool cs_held_rows_add(struct cs_held_rows *held, const struct cs_driver_entry *entry)
{
    const unsigned n = entry->chain ? entry->n_chain : 0;
    const size_t bytes = sizeof(struct cs_held_row) + n * sizeof(uint64_t);
    struct cs_held_row *row = held->bytes + bytes > HELD_BYTES_MAX ? NULL : malloc(bytes);
    if (!row)
        return false;
    *row = (struct cs_held_row){.entry = *entry, .bytes = bytes};
    if (n) {
        memcpy(row->chain, entry->chain, n * sizeof(uint64_t));
        row->entry.chain = row->chain;
    }
    if (held->last)
        held->last->next = row;
    else
        held->first = row;
    held->last = row;
    held->bytes += bytes;
    return true;
}

static void take_first(struct cs_held_rows *held)
{
    struct cs_held_row *row = held->first;
    held->first = row->next;
    held->last = held->first ? held->last : NULL;
    held->bytes -= row->bytes;
    free(row);
}

void cs_held_rows_emit(struct cs_held_rows *held, uint64_t until_ns, cs_driver_entry_fn emit, void *arg)
{
    while (held->first && held->first->entry.to_ns <= until_ns) {
        emit(arg, &held->first->entry);
        take_first(held);
    }
}

uint64_t cs_held_rows_oldest(const struct cs_held_rows *held)
{
    return held->first ? held->first->entry.from_ns : UINT64_MAX;
}

void cs_held_rows_fini(struct cs_held_rows *held)
{
    assert(!held->first == !held->bytes);
    while (held->first)
        take_first(held);
}
