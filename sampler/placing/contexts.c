/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/placing/contexts.h"

#include "store/base/array.h"

#include <assert.h>
#include <stdio.h>

#define PLACED 4096 /* places remembered within a drain, power of two */

struct tree { /* of an event and a label */
    unsigned event;
    uint32_t label;
    struct cs_contexts *nodes; /* NULL: nothing since the last merge */
    uint32_t *numbers;         /* of images by their index, + 1; 0 = not met in this tree */
    size_t n_numbers;
    uint64_t samples;
};

struct placed {
    uint64_t addr, from_ns, to_ns;
    uint32_t pid, drain;
    struct cs_mapped_image *image;
    uint64_t offset;
};

struct cs_session_contexts {
    struct cs_event *events;
    unsigned n_events;
    CS_ARRAY(struct tree) trees;
    uint32_t drain;
    bool of_others; /* its events aren't those of the profiles */
    uint64_t last;
    struct placed placed[PLACED];
};

static struct tree *tree_of(struct cs_session_contexts *c, unsigned event, uint32_t label)
{
    struct tree *found = NULL;
    for (size_t i = 0; i < c->trees.n && !found; i++)
        if (c->trees.at[i].event == event && c->trees.at[i].label == label)
            found = &c->trees.at[i];
    if (!found && (found = cs_array_add(&c->trees)) != NULL) {
        found->event = event;
        found->label = label;
    }
    if (found && !found->nodes)
        found->nodes = cs_contexts_open();
    return found && found->nodes ? found : NULL;
}

/* Frames near the root are met in most chains of a drain. */
static const struct placed *place(struct cs_session_contexts *c, struct cs_session_places *places,
                                  const struct cs_driver_entry *frame)
{
    uint64_t hash = (frame->pc ^ (uint64_t)frame->pid << 40) * 0x9E3779B97F4A7C15ULL;
    struct placed *p = &c->placed[hash >> 52 & (PLACED - 1)];
    struct cs_maps_location found;
    if (p->drain == c->drain && p->addr == frame->pc && p->pid == frame->pid &&
        p->from_ns == frame->from_ns && p->to_ns == frame->to_ns)
        return p;
    (void)cs_session_resolve(places, frame, &found);
    *p = (struct placed){frame->pc, frame->from_ns, frame->to_ns, frame->pid,
                         c->drain,  found.image,    found.offset};
    return p;
}

static int64_t image_number(struct tree *tree, const struct cs_mapped_image *image)
{
    if (image->index >= tree->n_numbers) {
        size_t n = tree->n_numbers;
        if (cs_array_reserve_in(tree->numbers, image->index + 1, tree->n_numbers) < 0)
            return -ENOMEM;
        memset(tree->numbers + n, 0, (tree->n_numbers - n) * sizeof *tree->numbers);
    }
    if (!tree->numbers[image->index]) {
        int64_t number = cs_contexts_image(tree->nodes, image->image.id);
        if (number < 0)
            return number;
        tree->numbers[image->index] = (uint32_t)number + 1;
    }
    return tree->numbers[image->index] - 1;
}

static int64_t child(struct tree *tree, int64_t node, const struct cs_mapped_image *image, uint64_t offset)
{
    int64_t number = node < 0 ? node : image_number(tree, image);
    return number < 0 ? number : cs_contexts_child(tree->nodes, (uint32_t)node, (uint32_t)number, offset);
}

int cs_session_contexts_add(struct cs_session_contexts *c, struct cs_session_places *places,
                            struct cs_session_profiles *profiles, const struct cs_driver_entry *entry,
                            const struct cs_maps_location *found)
{
    struct tree *tree = tree_of(c, entry->event, found->label);
    struct cs_driver_entry frame = *entry;
    int64_t node = tree ? (int64_t)CS_CONTEXTS_ROOT : -ENOMEM;
    frame.chain = NULL;
    for (unsigned i = entry->n_chain; i-- > 1 && node >= 0;) {
        frame.pc = entry->chain[i];
        frame.kernel = i < entry->n_kernel;
        const struct placed *at = place(c, places, &frame);
        bool met = at->image->index < tree->n_numbers && tree->numbers[at->image->index];
        if (!met) /* an image that is only called from needs to be in the store, too, to be named by */
            (void)cs_session_profiles_touch(profiles, at->image, c->of_others ? 0 : entry->event,
                                            found->label);
        node = child(tree, node, at->image, at->offset);
    }
    if (node >= 0)
        node = child(tree, node, found->image, found->offset);
    if (node < 0)
        return -ENOMEM;
    cs_contexts_add(tree->nodes, (uint32_t)node, entry->count);
    c->last = cs_contexts_at(tree->nodes, (uint32_t)node)->key;
    tree->samples += entry->count;
    if (cs_contexts_count(tree->nodes) > CS_SESSION_CONTEXTS_NODES &&
        cs_contexts_fold(tree->nodes, CS_CONTEXTS_NODES_MAX) == 0 && tree->n_numbers)
        memset(tree->numbers, 0, tree->n_numbers * sizeof *tree->numbers); /* images may have gone */
    return 0;
}

unsigned cs_session_contexts_callers(struct cs_session_contexts *c, struct cs_session_places *places,
                                     const struct cs_driver_entry *entry, struct cs_sampler_frame *callers,
                                     unsigned capacity)
{
    struct cs_driver_entry frame = *entry;
    unsigned n = 0;
    frame.chain = NULL;
    for (unsigned i = 1; i < entry->n_chain && n < capacity; i++) {
        frame.pc = entry->chain[i];
        frame.kernel = i < entry->n_kernel;
        const struct placed *at = place(c, places, &frame);
        callers[n++] = (struct cs_sampler_frame){&at->image->image, at->offset};
    }
    return n;
}

void cs_session_contexts_of_others(struct cs_session_contexts *c)
{
    c->of_others = true;
}

uint64_t cs_session_contexts_last(const struct cs_session_contexts *c)
{
    return c->last;
}

void cs_session_contexts_refresh(struct cs_session_contexts *c)
{
    c->drain++;
}

static int merge_tree(struct cs_session_contexts *c, const struct tree *tree, struct cs_store *store,
                      const struct cs_session_profiles_times *times,
                      const struct cs_session_profiles_merging *with, struct cs_error *err)
{
    const struct cs_event *event = &c->events[tree->event];
    const struct cs_session_profiles_times *t = &times[tree->event];
    struct cs_store_profile_head head = {.enabled_ns = t->enabled_ns, .running_ns = t->running_ns};
    snprintf(head.event, sizeof head.event, "%s", event->name);
    snprintf(head.label, sizeof head.label, "%s", with->label(with->arg, tree->label));
    snprintf(head.unit, sizeof head.unit, "%s", event->unit);
    head.period_sum = (uint64_t)((double)tree->samples * t->period);
    struct cs_table *table = cs_table_open(&cs_schema_contexts);
    int rc = table ? cs_contexts_put(tree->nodes, table) : -ENOMEM;
    rc = rc < 0 ? cs_fail(err, ENOMEM, "out of memory for the call chains")
                : cs_store_merge(store, &cs_contexts_profile, &head, table, err);
    cs_table_close(table);
    return rc;
}

int cs_session_contexts_merge(struct cs_session_contexts *c, struct cs_store *store,
                              const struct cs_session_profiles_times *times,
                              const struct cs_session_profiles_merging *with, struct cs_error *err)
{
    const size_t n = c->trees.n;
    for (size_t i = 0; i < n; i++) { /* by number: `between` may add trees */
        if (!c->trees.at[i].nodes)
            continue;
        int rc = merge_tree(c, &c->trees.at[i], store, times, with, err);
        if (rc < 0)
            return rc;
        struct tree *tree = &c->trees.at[i];
        cs_contexts_close(tree->nodes);
        free(tree->numbers);
        *tree = (struct tree){.event = tree->event, .label = tree->label};
        with->between(with->arg);
    }
    return 0;
}

struct cs_session_contexts *cs_session_contexts_open(const struct cs_event *events, unsigned n_events)
{
    assert(events && n_events > 0 && n_events <= CS_SAMPLER_EVENTS_MAX);
    struct cs_session_contexts *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->events = malloc(n_events * sizeof *events);
    c->n_events = n_events;
    if (!c->events) {
        cs_session_contexts_close(c);
        return NULL;
    }
    memcpy(c->events, events, n_events * sizeof *events);
    return c;
}

void cs_session_contexts_close(struct cs_session_contexts *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->trees.n; i++) {
        cs_contexts_close(c->trees.at[i].nodes);
        free(c->trees.at[i].numbers);
    }
    cs_array_free(&c->trees);
    free(c->events);
    free(c);
}
