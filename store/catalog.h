/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a store holds, without its rows: every profile and every image of the epochs that are read. One walk makes it,
 * and the handle keeps it. Readers ask it by cs_catalog_next and cs_store_select.
 *
 *     const struct cs_catalog *catalog;
 *     const struct cs_store_profile_ref *ref;
 *     struct cs_query points = {.kind = CS_KIND_POINTS, .event = "cycles"};
 *     int rc = cs_store_catalog(store, &catalog, err);
 *     for (size_t at = 0; rc == 0 && (ref = cs_catalog_next(catalog, &points, &at));)
 *         rc = cs_store_load_into(ref, &table, err);
 *
 * Order: epochs, images and files ascend by name, so that the same store gives the same report. Valid until the handle
 * writes, sees other epochs, is refreshed or closed. */
#pragma once

#include "store/store.h"

struct cs_catalog_image {
    const char *epoch;
    const struct cs_store_image *image;
    bool has_names; /* cs_store_merge_names gave it some in this epoch */
    bool is_first;  /* no earlier epoch has it */
};

struct cs_catalog {
    const struct cs_store_profile_ref *profiles;
    const struct cs_catalog_image
        *images; /* once an epoch, those too that have no profile: contexts name them */
    size_t n_profiles, n_images;
};

/* A damaged head or image.meta is an error whose sentence names the file. */
int cs_store_catalog(struct cs_store *store, const struct cs_catalog **out, struct cs_error *err);
/* What others wrote meanwhile is to be seen: the next catalogue is made anew. */
void cs_store_refresh(struct cs_store *store);

/* By its id, as the first epoch describes it; NULL: there is none. */
const struct cs_store_image *cs_catalog_image(const struct cs_catalog *catalog, const char *id);

/* All members that are set must fit; all-zero is every profile. */
struct cs_query {
    enum cs_kind kind;    /* CS_KIND_OTHER: any */
    const char *event;    /* NULL: any */
    const char *image_id; /* NULL: any */
    const char *label;    /* NULL: any; else as cs_store_label_is */
    const char *epoch;    /* NULL: any */
};

/* The first profile at or behind *at that fits, *at then being behind it; NULL at the end. */
const struct cs_store_profile_ref *cs_catalog_next(const struct cs_catalog *catalog,
                                                   const struct cs_query *query, size_t *at);

/* The profiles of a query, whose kind is set, as one table; NULL where there is none. The caller closes it. It is
 * sorted: threads may read its rows. `head` (may be NULL): event and unit of the first, the sums of all. */
int cs_store_select(struct cs_store *store, const struct cs_query *query, struct cs_table **out,
                    struct cs_store_profile_head *head, struct cs_error *err);
