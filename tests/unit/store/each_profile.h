/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a store lists, one by one: stops at the first non-zero result and returns that. */
#ifndef TESTS_UNIT_EACH_PROFILE_H
#define TESTS_UNIT_EACH_PROFILE_H

#include "store/catalog.h"

static inline int each_profile(struct cs_store *store,
                               int (*see)(const struct cs_store_profile_ref *ref, void *arg), void *arg,
                               struct cs_error *err)
{
    const struct cs_catalog *catalog;
    cs_store_refresh(store);
    int rc = cs_store_catalog(store, &catalog, err);
    for (size_t i = 0; rc == 0 && i < catalog->n_profiles; i++)
        rc = see(&catalog->profiles[i], arg);
    return rc;
}

#endif
