/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/catalog.h"
#include "store/merged.h"

#include <assert.h>
#include <string.h>

const struct cs_store_profile_ref *cs_catalog_next(const struct cs_catalog *catalog,
                                                   const struct cs_query *query, size_t *at)
{
    assert(*at <= catalog->n_profiles);
    while (*at < catalog->n_profiles) {
        const struct cs_store_profile_ref *ref = &catalog->profiles[(*at)++];
        if ((!query->kind || ref->kind == query->kind) &&
            (!query->event || strcmp(ref->head->event, query->event) == 0) &&
            (!query->image_id || strcmp(ref->image->id, query->image_id) == 0) &&
            (!query->label || cs_store_label_is(ref->head->label, query->label)) &&
            (!query->epoch || strcmp(ref->epoch, query->epoch) == 0))
            return ref;
    }
    return NULL;
}

int cs_store_select(struct cs_store *store, const struct cs_query *query, struct cs_table **out,
                    struct cs_store_profile_head *head, struct cs_error *err)
{
    const struct cs_catalog *catalog;
    const struct cs_store_profile_ref *ref;
    struct cs_store_profile_head sums = {.event = ""};
    assert(query->kind != CS_KIND_OTHER); /* profiles of several kinds are no one table */
    int rc = cs_store_catalog(store, &catalog, err);
    *out = NULL;
    for (size_t at = 0; rc == 0 && (ref = cs_catalog_next(catalog, query, &at));) {
        if (!*out)
            sums = *ref->head;
        else {
            sums.period_sum += ref->head->period_sum;
            sums.enabled_ns += ref->head->enabled_ns;
            sums.running_ns += ref->head->running_ns;
        }
        rc = cs_store_load_into(ref, out, err);
    }
    if (rc < 0) {
        cs_table_close(*out);
        *out = NULL;
    }
    cs_table_sort(*out); /* a later reader may be a thread */
    if (head)
        *head = sums;
    return rc;
}
