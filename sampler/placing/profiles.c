/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts in memory, in open-addressed slots by (image, event, label). */
#include "sampler/placing/profiles.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct profile {
    const struct cs_mapped_image *image; /* NULL = free slot */
    unsigned event;
    uint32_t label;
    struct cs_table *table;  /* NULL = nothing since the last merge */
    uint64_t samples, round; /* the merge that follows its first sample */
};

struct cs_session_profiles {
    struct cs_event *events;
    unsigned n_events;
    struct profile *slots;
    size_t n, capacity; /* room: power of two */
    struct profile *last;
    uint64_t pending, round;
};

static size_t home(const struct cs_session_profiles *p, const struct profile *like)
{
    uint64_t h = (uint64_t)like->image->index << 24 ^ (uint64_t)like->label << 5 ^ like->event;
    return (size_t)(h * 0x9E3779B97F4A7C15ULL >> 20) & (p->capacity - 1);
}

static bool same(const struct profile *a, const struct profile *b)
{
    return a->image == b->image && a->event == b->event && a->label == b->label;
}

static struct profile *slot_of(struct cs_session_profiles *p, const struct profile *like)
{
    size_t i = home(p, like);
    while (p->slots[i].image && !same(&p->slots[i], like))
        i = (i + 1) & (p->capacity - 1);
    return &p->slots[i];
}

static bool grow(struct cs_session_profiles *p)
{
    struct profile *old = p->slots;
    size_t n = p->capacity;
    p->capacity = n ? 2 * n : 256;
    p->slots = calloc(p->capacity, sizeof *p->slots);
    if (!p->slots) {
        p->slots = old;
        p->capacity = n;
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (old[i].image)
            *slot_of(p, &old[i]) = old[i];
    free(old);
    p->last = NULL;
    return true;
}

static struct profile *profile_of(struct cs_session_profiles *p, const struct profile *like)
{
    if (p->last && same(p->last, like) && p->last->table)
        return p->last;
    if (2 * (p->n + 1) > p->capacity && !grow(p))
        return NULL;
    struct profile *found = slot_of(p, like);
    if (!found->image) {
        *found = *like;
        p->n++;
    }
    if (!found->table) {
        found->table = cs_table_open(&cs_schema_points);
        found->round = p->round;
    }
    if (!found->table)
        return NULL;
    p->last = found;
    return found;
}

int cs_session_profiles_add(struct cs_session_profiles *p, const struct cs_mapped_image *image,
                            unsigned event, uint32_t label, uint64_t offset, uint64_t samples)
{
    struct profile like = {.image = image, .event = event, .label = label};
    struct profile *profile = profile_of(p, &like);
    if (!profile || cs_table_add(profile->table, (uint64_t[]){offset, samples}) < 0)
        return -ENOMEM;
    profile->samples += samples;
    p->pending += samples;
    return 0;
}

int cs_session_profiles_touch(struct cs_session_profiles *p, const struct cs_mapped_image *image,
                              unsigned event, uint32_t label)
{
    struct profile like = {.image = image, .event = event, .label = label};
    return profile_of(p, &like) ? 0 : -ENOMEM;
}

uint64_t cs_session_profiles_pending(const struct cs_session_profiles *p)
{
    return p->pending;
}

int cs_session_profiles_merge(struct cs_session_profiles *p, struct cs_store *store,
                              const struct cs_session_profiles_times *times,
                              const struct cs_session_profiles_merging *with, uint64_t *merged,
                              struct cs_error *err)
{
    size_t capacity = p->capacity;
    const uint64_t round = p->round++;
    for (size_t i = 0; i < p->capacity; i++) {
        if (capacity != p->capacity) { /* grown meanwhile: all have moved */
            capacity = p->capacity;
            i = 0;
        }
        struct profile *profile = &p->slots[i];
        if (!profile->image || !profile->table || profile->round > round)
            continue;
        const struct cs_event *event = &p->events[profile->event];
        const struct cs_session_profiles_times *t = &times[profile->event];
        struct cs_store_profile_head head = {.enabled_ns = t->enabled_ns, .running_ns = t->running_ns};
        snprintf(head.event, sizeof head.event, "%s", event->name);
        snprintf(head.label, sizeof head.label, "%s", with->label(with->arg, profile->label));
        snprintf(head.unit, sizeof head.unit, "%s", event->unit);
        head.period_sum = (uint64_t)((double)profile->samples * t->period);
        int rc = cs_store_merge(store, &profile->image->image, &head, profile->table, err);
        if (rc < 0)
            return rc;
        cs_table_close(profile->table);
        profile->table = NULL;
        *merged += profile->samples;
        p->pending -= profile->samples;
        profile->samples = 0;
        with->between(with->arg);
    }
    return 0;
}

struct cs_session_profiles *cs_session_profiles_open(const struct cs_event *events, unsigned n_events)
{
    assert(events && n_events > 0);
    struct cs_session_profiles *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->events = malloc(n_events * sizeof *events);
    p->n_events = n_events;
    if (!p->events || !grow(p)) {
        cs_session_profiles_close(p);
        return NULL;
    }
    memcpy(p->events, events, n_events * sizeof *events);
    return p;
}

void cs_session_profiles_close(struct cs_session_profiles *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->capacity; i++)
        cs_table_close(p->slots[i].table);
    free(p->slots);
    free(p->events);
    free(p);
}
