/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/placing/intervals.h"

#include "store/base/clock.h"
#include "store/coarsen.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LENGTH_MS_MAX (3600ull * 1000) /* beyond, it is the code that is wide, not the time that is long */

struct part {
    const struct cs_store_image *image; /* NULL = free slot */
    unsigned event;
    char name[64]; /* of the event */
    struct cs_table *table;
};

struct cs_intervals {
    uint64_t asked_ms, length_ms, limit_bytes;
    int64_t wall_minus_monotonic_ns;
    uint64_t random;
    struct part *parts; /* open addressing, at most half full */
    size_t n, n_slots;
};

int cs_intervals_open(uint64_t length_ms, uint64_t limit_bytes, struct cs_intervals **out)
{
    assert(length_ms > 0);
    struct cs_intervals *intervals = calloc(1, sizeof *intervals);
    *out = intervals;
    if (!intervals)
        return -ENOMEM;
    intervals->asked_ms = intervals->length_ms = length_ms ? length_ms : 1;
    intervals->limit_bytes = limit_bytes;
    intervals->random = 88172645463325252ull;
    intervals->wall_minus_monotonic_ns =
        (int64_t)(cs_clock_ns(CLOCK_REALTIME) - cs_clock_ns(CLOCK_MONOTONIC));
    return 0;
}

void cs_intervals_close(struct cs_intervals *intervals)
{
    if (!intervals)
        return;
    for (size_t i = 0; i < intervals->n_slots; i++)
        cs_table_close(intervals->parts[i].table);
    free(intervals->parts);
    free(intervals);
}

static struct part *slot_of(struct part *parts, size_t n_slots, const struct cs_store_image *image,
                            unsigned event)
{
    size_t slot = (((size_t)image >> 4) * 0x9e3779b97f4a7c15ull + event * 0x85ebca6bu) >> 17;
    for (;; slot++) {
        struct part *part = &parts[slot & (n_slots - 1)];
        if (!part->image || (part->image == image && part->event == event))
            return part;
    }
}

static int grow(struct cs_intervals *intervals)
{
    size_t n_slots = intervals->n_slots ? 2 * intervals->n_slots : 64;
    struct part *parts = calloc(n_slots, sizeof *parts);
    if (!parts)
        return -ENOMEM;
    for (size_t i = 0; i < intervals->n_slots; i++)
        if (intervals->parts[i].image)
            *slot_of(parts, n_slots, intervals->parts[i].image, intervals->parts[i].event) =
                intervals->parts[i];
    free(intervals->parts);
    intervals->parts = parts;
    intervals->n_slots = n_slots;
    return 0;
}

static struct part *find(struct cs_intervals *intervals, const struct cs_store_image *image, unsigned event,
                         const char *name)
{
    if (2 * intervals->n >= intervals->n_slots && grow(intervals) < 0)
        return NULL;
    struct part *part = slot_of(intervals->parts, intervals->n_slots, image, event);
    if (part->image)
        return part;
    struct cs_table *table = cs_table_open(&cs_schema_intervals);
    if (!table)
        return NULL;
    *part = (struct part){.image = image, .event = event, .table = table};
    snprintf(part->name, sizeof part->name, "%s", name);
    intervals->n++;
    return part;
}

/* xorshift64 */
static uint64_t draw(struct cs_intervals *intervals)
{
    intervals->random ^= intervals->random << 13;
    intervals->random ^= intervals->random >> 7;
    return intervals->random ^= intervals->random << 17;
}

/* When in from..to the samples came is not known. Within one interval it doesn't matter; over several (the
 * sampler was late) they are spread evenly, from a random first moment on. */
int cs_intervals_add(struct cs_intervals *intervals, const struct cs_sampler_placed *placed,
                     const char *event)
{
    struct part *part = find(intervals, placed->image, placed->event, event);
    uint64_t length_ns = intervals->length_ms * 1000000;
    uint64_t from_ns = (uint64_t)((int64_t)placed->from_ns + intervals->wall_minus_monotonic_ns);
    uint64_t span_ns = placed->to_ns > placed->from_ns ? placed->to_ns - placed->from_ns : 0;
    uint64_t n_shares = span_ns / length_ns + 1, left = placed->samples;
    if (n_shares > placed->samples)
        n_shares = placed->samples;
    double step_ns = n_shares ? (double)span_ns / (double)n_shares : 0;
    double first = n_shares > 1 || span_ns > length_ns ? (double)(draw(intervals) >> 11) / 0x1p53 : 0.5;
    for (uint64_t i = 0; i < n_shares; i++) {
        uint64_t at_ns = from_ns + (uint64_t)(((double)i + first) * step_ns);
        uint64_t start_ms = at_ns / length_ns * intervals->length_ms, samples = left / (n_shares - i);
        uint64_t row[4] = {intervals->length_ms, start_ms,
                           placed->offset - placed->offset % CS_INTERVAL_BLOCK_BYTES, samples};
        if (!part || cs_table_add(part->table, row) < 0)
            return -ENOMEM;
        left -= samples;
    }
    return 0;
}

/* Twice as long until the epoch's profiles fit. */
static int bound(struct cs_intervals *intervals, struct cs_store *store, struct cs_error *err)
{
    uint64_t bytes;
    int rc = cs_store_interval_bytes(store, &bytes, err);
    while (rc == 0 && bytes > intervals->limit_bytes && intervals->length_ms < LENGTH_MS_MAX) {
        intervals->length_ms *= 2;
        rc = cs_store_coarsen(store, intervals->length_ms, err);
        if (rc == 0)
            rc = cs_store_interval_bytes(store, &bytes, err);
    }
    return rc;
}

int cs_intervals_merge(struct cs_intervals *intervals, struct cs_store *store, struct cs_sampler *sampler,
                       struct cs_error *err)
{
    for (size_t i = 0; i < intervals->n_slots; i++) {
        struct part *part = &intervals->parts[i];
        if (!part->image || cs_table_rows(part->table) == 0)
            continue;
        struct cs_store_profile_head head = {.unit = ""};
        memcpy(head.event, part->name, sizeof part->name);
        int rc = cs_store_merge(store, part->image, &head, part->table, err);
        if (rc < 0)
            return rc;
        cs_table_clear(part->table);
        if (sampler)
            cs_sampler_keep_up(sampler);
    }
    return bound(intervals, store, err);
}

uint64_t cs_intervals_length_ms(const struct cs_intervals *intervals)
{
    return intervals->length_ms;
}

void cs_intervals_epoch(struct cs_intervals *intervals)
{
    intervals->length_ms = intervals->asked_ms;
}
