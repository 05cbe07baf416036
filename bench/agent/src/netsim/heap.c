// SPDX-License-Identifier: GPL-2.0-or-later
// A worker's packets, the earliest first.
#include "netsim.h"
#include <stdlib.h>

static inline bool before(const Packet *a, const Packet *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    return a->flow != b->flow ? a->flow < b->flow : a->number < b->number;
}

void heap_put(Heap *heap, const Packet *packet)
{
    if (heap->count == heap->room) {
        heap->room = heap->room ? 2 * heap->room : 256;
        heap->packets = realloc(heap->packets, (size_t)heap->room * sizeof *heap->packets);
        if (!heap->packets)
            abort();
    }
    int at = heap->count++;
    while (at > 0 && before(packet, &heap->packets[(at - 1) / 2])) {
        heap->packets[at] = heap->packets[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->packets[at] = *packet;
}

// The earliest packet, if it is before a time.
bool heap_take(Heap *heap, uint64_t limit, Packet *packet)
{
    if (heap->count == 0 || heap->packets[0].time >= limit)
        return false;
    *packet = heap->packets[0];
    Packet last = heap->packets[--heap->count];
    int at = 0;
    for (;;) {
        int child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && before(&heap->packets[child + 1], &heap->packets[child]))
            child++;
        if (!before(&heap->packets[child], &last))
            break;
        heap->packets[at] = heap->packets[child];
        at = child;
    }
    if (heap->count > 0)
        heap->packets[at] = last;
    return true;
}
