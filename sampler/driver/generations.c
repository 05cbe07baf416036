/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Generations of PID slots: the present number of each, and the lately begun ones sorted by slot and time. */
#include "sampler/driver/generations.h"
#include "sampler/driver/hot_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct begun {
    uint64_t time_ns;
    uint32_t slot;
    uint16_t number, before; /* what was there until then */
};

struct cs_generations {
    uint16_t now[CS_GENERATION_SLOTS];
    struct begun *begun;
    size_t n, capacity;
    bool sorted;
};

struct cs_generations *cs_generations_open(void)
{
    return calloc(1, sizeof(struct cs_generations));
}

void cs_generations_close(struct cs_generations *g)
{
    if (g)
        free(g->begun);
    free(g);
}

static int add(struct cs_generations *g, struct begun begun)
{
    if (g->n == g->capacity) {
        size_t capacity = g->capacity ? 2 * g->capacity : 256;
        struct begun *more = realloc(g->begun, capacity * sizeof *more);
        if (!more)
            return -ENOMEM;
        g->begun = more;
        g->capacity = capacity;
    }
    /* Fork on one CPU, exec on another: their records are read in any order. */
    if (((begun.number - (unsigned)g->now[begun.slot]) & CS_HOT_GENERATION_MASK) <=
        CS_HOT_GENERATION_MASK / 2)
        g->now[begun.slot] = begun.number;
    g->begun[g->n++] = begun;
    g->sorted = false;
    return 0;
}

int cs_generations_note(struct cs_generations *g, uint32_t slot, uint32_t number, uint64_t time_ns)
{
    return add(g, (struct begun){time_ns, slot & (CS_GENERATION_SLOTS - 1),
                                 (uint16_t)(number & CS_HOT_GENERATION_MASK),
                                 (uint16_t)((number - 1U) & CS_HOT_GENERATION_MASK)});
}

uint32_t cs_generations_now(const struct cs_generations *g, uint32_t slot)
{
    return g->now[slot & (CS_GENERATION_SLOTS - 1)];
}

int cs_generations_resume(struct cs_generations *g, uint32_t slot, uint32_t number, uint64_t time_ns)
{
    slot &= CS_GENERATION_SLOTS - 1;
    number &= CS_HOT_GENERATION_MASK;
    uint16_t before = g->now[slot];
    g->now[slot] = (uint16_t)number;
    return add(g, (struct begun){time_ns, slot, (uint16_t)number, before});
}

uint32_t cs_generations_next(struct cs_generations *g, uint32_t slot, uint64_t time_ns)
{
    uint32_t number = (g->now[slot & (CS_GENERATION_SLOTS - 1)] + 1U) & CS_HOT_GENERATION_MASK;
    (void)cs_generations_note(g, slot, number, time_ns);
    return number;
}

static int by_slot_and_time(const void *a, const void *b)
{
    const struct begun *x = a, *y = b;
    if (x->slot != y->slot)
        return x->slot < y->slot ? -1 : 1;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* First of those begun lately in the slot; g->n when there is none. */
static size_t first_of(struct cs_generations *g, uint32_t slot)
{
    if (!g->sorted) {
        if (g->n)
            qsort(g->begun, g->n, sizeof *g->begun, by_slot_and_time);
        g->sorted = true;
    }
    size_t low = 0, high = g->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (g->begun[middle].slot < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->n && g->begun[low].slot == slot ? low : g->n;
}

struct cs_generation_span cs_generations_span(struct cs_generations *g, uint32_t slot, uint64_t time_ns)
{
    slot &= CS_GENERATION_SLOTS - 1;
    size_t i = first_of(g, slot);
    if (i == g->n)
        return (struct cs_generation_span){0, UINT64_MAX, g->now[slot]};
    struct cs_generation_span span = {0, UINT64_MAX, g->begun[i].before};
    for (; i < g->n && g->begun[i].slot == slot; i++) {
        if (g->begun[i].time_ns > time_ns) {
            span.to_ns = g->begun[i].time_ns;
            break;
        }
        span.from_ns = g->begun[i].time_ns;
        span.number = g->begun[i].number;
    }
    return span;
}

uint64_t cs_generations_start(struct cs_generations *g, uint32_t slot, uint32_t number)
{
    slot &= CS_GENERATION_SLOTS - 1;
    number &= CS_HOT_GENERATION_MASK;
    size_t i = first_of(g, slot);
    if (i == g->n)
        return number == g->now[slot] ? 0 : CS_GENERATION_UNKNOWN;
    if (number == g->begun[i].before)
        return 0;
    for (; i < g->n && g->begun[i].slot == slot; i++)
        if (g->begun[i].number == number)
            return g->begun[i].time_ns;
    return CS_GENERATION_UNKNOWN;
}

void cs_generations_expire(struct cs_generations *g, uint64_t horizon_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->n; i++)
        if (g->begun[i].time_ns >= horizon_ns)
            g->begun[kept++] = g->begun[i];
    g->n = kept;
}
