/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/contexts/chains.h"
#include "store/base/array.h"
#include "store/catalog.h"
#include "store/table/dictionary.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX (1u << 20) /* of a report: beyond, rare contexts fold (store/contexts.h) */

struct loading {
    const struct cs_calls_wanted *wanted;
    struct cs_chains *chains;
    struct cs_dictionary numbers; /* of labels */
};

static struct cs_chain_tree *tree_of(struct loading *l, const char *label)
{
    const char *key = l->wanted->by_label ? label : "";
    int64_t n = cs_dictionary_add(&l->numbers, key, strlen(key));
    struct cs_chains *chains = l->chains;
    if (n < 0 || (size_t)n > chains->n)
        return NULL;
    if ((size_t)n < chains->n)
        return &chains->trees[n];
    if (cs_array_room(chains->trees, chains->n, chains->capacity) < 0)
        return NULL;
    struct cs_chain_tree *tree = &chains->trees[chains->n++];
    *tree = (struct cs_chain_tree){.contexts = cs_contexts_open()};
    memcpy(tree->label, key, strnlen(key, sizeof tree->label - 1));
    return tree->contexts ? tree : NULL;
}

static int take_profile(struct loading *l, const struct cs_store_profile_ref *ref, struct cs_error *err)
{
    struct cs_chain_tree *tree = tree_of(l, ref->head->label);
    struct cs_table *table = NULL;
    int rc = tree ? cs_store_load(ref, &table, err) : cs_fail(err, ENOMEM, "out of memory for call contexts");
    if (rc == 0 &&
        (cs_contexts_take(tree->contexts, table) < 0 || cs_contexts_fold(tree->contexts, NODES_MAX) < 0))
        rc = cs_fail(err, ENOMEM, "out of memory for the contexts of %s", ref->file);
    cs_table_close(table);
    return rc;
}

static int take_profiles(struct loading *l, struct cs_store *store, struct cs_error *err)
{
    const struct cs_query query = {.label = l->wanted->label, .epoch = l->wanted->epoch};
    const struct cs_store_profile_ref *ref;
    const struct cs_catalog *catalog;
    char event[64];
    int rc = cs_store_catalog(store, &catalog, err);
    for (size_t at = 0; rc == 0 && (ref = cs_catalog_next(catalog, &query, &at));)
        if (cs_contexts_of(ref, event) && strcmp(event, l->wanted->event) == 0)
            rc = take_profile(l, ref, err);
    return rc;
}

static int add_places(struct cs_contexts *places, struct cs_chain_tree *tree, bool weigh)
{
    struct cs_contexts *contexts = tree->contexts;
    const uint64_t all = cs_contexts_sum(contexts);
    const uint32_t n = cs_contexts_count(contexts), n_images = cs_contexts_images(contexts);
    int64_t *images = calloc(n_images + 1, sizeof *images); /* their numbers in `places` */
    tree->place = calloc(n, sizeof *tree->place);
    int rc = images && tree->place ? 0 : -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < n_images; i++)
        rc = (images[i] = cs_contexts_image(places, cs_contexts_image_id(contexts, i))) < 0 ? -ENOMEM : 0;
    if (weigh)
        cs_contexts_add(places, CS_CONTEXTS_ROOT, all);
    for (uint32_t i = 1; rc == 0 && i < n; i++) {
        const struct cs_context *c = cs_contexts_at(contexts, i);
        int64_t place = cs_contexts_child(places, CS_CONTEXTS_ROOT, (uint32_t)images[c->image], c->offset);
        if (place < 0) {
            rc = -ENOMEM;
            break;
        }
        tree->place[i] = (uint32_t)place;
        if (weigh && (!c->parent || cs_contexts_at(contexts, c->parent)->image != c->image))
            cs_contexts_add(places, (uint32_t)place, c->total);
    }
    free(images);
    return rc;
}

int cs_chains_open(struct cs_chains *chains, struct cs_store *store, const struct cs_calls_wanted *wanted,
                   struct cs_error *err)
{
    assert(wanted->event);
    *chains = (struct cs_chains){.places = cs_contexts_open()};
    struct loading l = {.wanted = wanted, .chains = chains};
    int rc = chains->places && (wanted->by_label || tree_of(&l, ""))
                 ? take_profiles(&l, store, err)
                 : cs_fail(err, ENOMEM, "out of memory for call contexts");
    for (size_t i = 0; rc == 0 && i < chains->n; i++)
        if (add_places(chains->places, &chains->trees[i], wanted->plain_rare) < 0)
            rc = cs_fail(err, ENOMEM, "out of memory for call contexts");
    cs_dictionary_fini(&l.numbers);
    if (rc < 0)
        cs_chains_close(chains);
    return rc;
}

void cs_chains_close(struct cs_chains *chains)
{
    for (size_t i = 0; i < chains->n; i++) {
        cs_contexts_close(chains->trees[i].contexts);
        free(chains->trees[i].place);
    }
    free(chains->trees);
    cs_contexts_close(chains->places);
    *chains = (struct cs_chains){0};
}
