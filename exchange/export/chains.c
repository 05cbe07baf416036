/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples with their call chains: the trees of contexts of each event, and points where an epoch has none. */
#include "exchange/export/chains.h"

#include "store/base/array.h"
#include "store/catalog.h"
#include "store/table/wait_schemas.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts that no two differ in by chance: names hold no newline that isn't escaped in a store's file names, and a wrong
 * match would only choose points where there are chains. */
static int64_t text_of(const struct cs_export *from, const char *epoch, const char *label, const char *event)
{
    char key[512];
    snprintf(key, sizeof key, "%s\n%s\n%s", event, label, epoch);
    return cs_table_text(from->chained, key);
}

static int no_memory(struct cs_error *err)
{
    return cs_fail(err, ENOMEM, "out of memory for the call chains of the store");
}

int cs_export_chains_note(struct cs_export *from, struct cs_store *store, struct cs_error *err)
{
    const struct cs_catalog *catalog;
    int rc = cs_store_catalog(store, &catalog, err);
    from->chained = cs_table_open(&cs_schema_stacks);
    if (rc == 0 && !from->chained)
        rc = no_memory(err);
    for (size_t i = 0; rc == 0 && i < catalog->n_profiles; i++) {
        const struct cs_store_profile_ref *ref = &catalog->profiles[i];
        char event[64];
        if (cs_contexts_of(ref, event) &&
            (text_of(from, ref->epoch, ref->head->label, event) < 0 || text_of(from, "", "", event) < 0))
            rc = no_memory(err);
    }
    from->n_noted = rc == 0 ? cs_table_texts(from->chained) : 0;
    return rc;
}

static bool is_noted(const struct cs_export *from, const char *epoch, const char *label, const char *event)
{
    int64_t at = from->n_noted ? text_of(from, epoch, label, event) : -1; /* one that is new comes behind */
    return at >= 0 && (size_t)at < from->n_noted;
}

bool cs_export_event_is_chained(const struct cs_export *from, const char *event)
{
    return is_noted(from, "", "", event);
}

bool cs_export_is_chained(const struct cs_export *from, const struct cs_store_profile_ref *ref,
                          const char *event)
{
    assert(event);
    return is_noted(from, ref->epoch, ref->head->label, event);
}

static struct cs_export_chains *chains_of(struct cs_export *from, const char *event)
{
    for (unsigned i = 0; i < from->n_chains; i++)
        if (strcmp(from->chains[i].event, event) == 0)
            return &from->chains[i];
    if (cs_array_resize(from->chains, from->n_chains + 1) < 0)
        return NULL;
    struct cs_export_chains *c = &from->chains[from->n_chains];
    snprintf(c->event, sizeof c->event, "%s", event);
    c->tree = cs_contexts_open();
    from->n_chains += c->tree != NULL;
    return c->tree ? c : NULL;
}

static int take_profiles(struct cs_export *from, const struct cs_exported_image *image)
{
    for (unsigned k = 0; k < image->n_profiles; k++) {
        struct cs_store_profile_head head = {.event = ""};
        const struct cs_store_profile_ref ref = {.head = &head, .kind = image->profiles[k].kind};
        char event[64];
        memcpy(head.event, image->profiles[k].event, sizeof head.event);
        if (!cs_contexts_of(&ref, event))
            continue;
        struct cs_export_chains *c = chains_of(from, event);
        if (!c || cs_contexts_take(c->tree, image->profiles[k].table) == -ENOMEM)
            return -ENOMEM;
    }
    return 0;
}

/* Those that the store lacks stay NULL in the end. */
static bool chains_name(const struct cs_export *from, const char *image_id)
{
    for (unsigned i = 0; i < from->n_chains; i++)
        for (uint32_t k = 1; k < cs_contexts_images(from->chains[i].tree); k++)
            if (strcmp(cs_contexts_image_id(from->chains[i].tree, k), image_id) == 0)
                return true;
    return false;
}

int cs_export_chains_open(struct cs_export *from, struct cs_store *store, struct cs_error *err)
{
    const struct cs_catalog *catalog;
    int rc = take_profiles(from, &from->contexts);
    for (unsigned i = 0; rc == 0 && i < from->n_images; i++)
        rc = take_profiles(from, &from->images[i]);
    if (rc < 0)
        return no_memory(err);
    for (unsigned i = 0; i < from->n_chains; i++)
        from->rows_total += cs_contexts_count(from->chains[i].tree);
    rc = from->n_chains ? cs_store_catalog(store, &catalog, err) : 0;
    for (size_t i = 0; rc == 0 && from->n_chains && i < catalog->n_images; i++)
        if (catalog->images[i].is_first && chains_name(from, catalog->images[i].image->id) &&
            !cs_export_image_of(from, catalog->images[i].image))
            rc = no_memory(err);
    return rc;
}

void cs_export_chains_close(struct cs_export *from)
{
    for (unsigned i = 0; i < from->n_chains; i++)
        cs_contexts_close(from->chains[i].tree);
    free(from->chains);
    cs_table_close(from->chained);
}

typedef int visitor(const char *event, const struct cs_export_frame *frames, size_t n, uint64_t samples,
                    void *arg);

/* A chain from each frame that has samples of its own. */
static int visit_tree(struct cs_export *from, const struct cs_export_chains *chains, bool all, visitor *visit,
                      void *arg)
{
    struct cs_contexts *tree = chains->tree;
    uint32_t n_images = cs_contexts_images(tree), count = cs_contexts_count(tree);
    struct cs_exported_image **images = calloc(n_images, sizeof *images);
    struct cs_export_frame *frames = NULL;
    size_t capacity = 0;
    int rc = images ? 0 : -ENOMEM;
    for (uint32_t i = 1; rc == 0 && i < n_images; i++)
        images[i] = cs_export_image(from, cs_contexts_image_id(tree, i));
    for (uint32_t i = 1; rc == 0 && i < count; i++) {
        const struct cs_context *leaf = cs_contexts_at(tree, i);
        size_t n = 0;
        cs_export_row_done(from);
        if (!leaf->self || !(all || (images[leaf->image] && images[leaf->image]->wanted)))
            continue;
        for (uint32_t at = i; rc == 0 && at; at = cs_contexts_at(tree, at)->parent) {
            const struct cs_context *c = cs_contexts_at(tree, at);
            rc = cs_array_room(frames, n, capacity);
            if (rc == 0)
                frames[n++] = (struct cs_export_frame){images[c->image], c->offset};
        }
        rc = rc < 0 ? rc : visit(chains->event, frames, n, leaf->self, arg);
    }
    free(images);
    free(frames);
    return rc;
}

/* Not what counts something else than samples: where bursts began, which branches were guessed wrong, who ended waits. */
static bool is_sampled(const char *event)
{
    return strcmp(event, CS_WAKERS_EVENT) != 0 && strncmp(event, "burst-", 6) != 0 &&
           strncmp(event, "lbr-", 4) != 0 && strncmp(event, "path-", 5) != 0;
}

static int visit_points(struct cs_export *from, struct cs_exported_image *image, visitor *visit, void *arg)
{
    int rc = 0;
    for (unsigned k = 0; rc == 0 && k < image->n_profiles; k++) {
        const struct cs_exported_profile *p = &image->profiles[k];
        struct cs_table *table = p->chained ? p->bare : p->table;
        if (!from->chosen && !is_sampled(p->event))
            continue;
        for (size_t r = 0; table && p->kind == CS_KIND_POINTS && rc == 0 && r < cs_table_rows(table); r++) {
            const uint64_t *row = cs_table_row(table, r);
            struct cs_export_frame frame = {image, row[0]};
            cs_export_row_done(from);
            rc = visit(p->event, &frame, 1, row[1], arg);
        }
    }
    return rc;
}

int cs_export_each_stack(struct cs_export *from, visitor *visit, void *arg)
{
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < from->n_chains; i++)
        if (from->chosen || is_sampled(from->chains[i].event))
            rc = visit_tree(from, &from->chains[i], !from->filtered, visit, arg);
    for (unsigned i = 0; rc == 0 && i < from->n_images; i++)
        rc = visit_points(from, &from->images[i], visit, arg);
    return rc;
}
