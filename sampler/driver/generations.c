/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Generations of PID slots: the present number of each, and the lately begun ones, latest first in a list of each slot. */
#include "sampler/driver/generations.h"
#include "sampler/driver/hot_table.h"
#include "store/base/array.h"

#include <errno.h>
#include <stdlib.h>

struct begun {
    uint64_t time_ns;
    uint32_t slot, earlier;  /* the one before it in the slot: index + 1 */
    uint16_t number, before; /* what was there until then */
};

struct cs_generations {
    uint16_t now[CS_GENERATION_SLOTS];
    uint32_t latest[CS_GENERATION_SLOTS]; /* index + 1; 0: none begun lately */
    struct begun *begun;
    size_t n, capacity;
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

/* Records come almost in order: only those that came late are passed. A PID may have thousands, if it execs without end. */
static void link_in(struct cs_generations *g, size_t i)
{
    uint32_t *at = &g->latest[g->begun[i].slot];
    while (*at && g->begun[*at - 1].time_ns > g->begun[i].time_ns)
        at = &g->begun[*at - 1].earlier;
    g->begun[i].earlier = *at;
    *at = (uint32_t)i + 1;
}

static int add(struct cs_generations *g, struct begun begun)
{
    if (cs_array_room(g->begun, g->n, g->capacity) < 0)
        return -ENOMEM;
    /* Fork on one CPU, exec on another: their records are read in any order. */
    if (((begun.number - (unsigned)g->now[begun.slot]) & CS_HOT_GENERATION_MASK) <=
        CS_HOT_GENERATION_MASK / 2)
        g->now[begun.slot] = begun.number;
    g->begun[g->n] = begun;
    link_in(g, g->n++);
    return 0;
}

int cs_generations_note(struct cs_generations *g, uint32_t slot, uint32_t number, uint64_t time_ns)
{
    return add(g, (struct begun){.time_ns = time_ns,
                                 .slot = slot & (CS_GENERATION_SLOTS - 1),
                                 .number = (uint16_t)(number & CS_HOT_GENERATION_MASK),
                                 .before = (uint16_t)((number - 1U) & CS_HOT_GENERATION_MASK)});
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
    return add(
        g, (struct begun){.time_ns = time_ns, .slot = slot, .number = (uint16_t)number, .before = before});
}

uint32_t cs_generations_next(struct cs_generations *g, uint32_t slot, uint64_t time_ns)
{
    uint32_t number = (g->now[slot & (CS_GENERATION_SLOTS - 1)] + 1U) & CS_HOT_GENERATION_MASK;
    (void)cs_generations_note(g, slot, number, time_ns);
    return number;
}

struct cs_generation_span cs_generations_span(struct cs_generations *g, uint32_t slot, uint64_t time_ns)
{
    slot &= CS_GENERATION_SLOTS - 1;
    struct cs_generation_span span = {0, UINT64_MAX, g->now[slot]};
    for (uint32_t i = g->latest[slot]; i; i = g->begun[i - 1].earlier) {
        const struct begun *begun = &g->begun[i - 1];
        if (begun->time_ns <= time_ns)
            return (struct cs_generation_span){begun->time_ns, span.to_ns, begun->number};
        span.to_ns = begun->time_ns;
        span.number = begun->before;
    }
    return span;
}

uint64_t cs_generations_start(struct cs_generations *g, uint32_t slot, uint32_t number)
{
    slot &= CS_GENERATION_SLOTS - 1;
    number &= CS_HOT_GENERATION_MASK;
    uint32_t before = g->now[slot];
    uint64_t start = CS_GENERATION_UNKNOWN;
    for (uint32_t i = g->latest[slot]; i; i = g->begun[i - 1].earlier) {
        if (g->begun[i - 1].number == number)
            start = g->begun[i - 1].time_ns;
        before = g->begun[i - 1].before;
    }
    return number == before ? 0 : start;
}

void cs_generations_expire(struct cs_generations *g, uint64_t horizon_ns)
{
    const size_t n = g->n;
    for (size_t i = 0; i < n; i++)
        g->latest[g->begun[i].slot] = 0;
    g->n = 0;
    for (size_t i = 0; i < n; i++)
        if (g->begun[i].time_ns >= horizon_ns) {
            g->begun[g->n] = g->begun[i];
            link_in(g, g->n++);
        }
}
