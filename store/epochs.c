/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Epochs' names begin with their time; those of one second and host end in -2, -3, ..., -10: strverscmp is their
 * order. What isn't seen isn't opened. */
#include "store/catalog.h"
#include "store/file.h"
#include "store/layout.h"
#include "store/merge_file.h"
#include "store/store.h"
#include "store/store_open.h"
#include "store/table/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int newest_first(const void *a, const void *b)
{
    return strverscmp(*(char *const *)b, *(char *const *)a);
}

static int visit_epoch(const struct cs_store *store, const char *name,
                       int (*visit)(const char *epoch, const char *meta, void *arg), void *arg,
                       struct cs_error *err)
{
    struct cs_store_pathname path;
    struct cs_store_profile_file file;
    struct cs_table *facts = NULL;
    struct cs_error unread = {0};
    int rc = cs_store_pathname_join(&path, err, "%s/%s/" CS_EPOCH_META, store->path, name);
    if (rc < 0 || access(path.text, F_OK) < 0) /* a stranger's directory */
        return rc;
    if (cs_store_file_load(path.text, &file, &facts, &unread) < 0)
        return visit(name, "", arg);
    rc =
        visit(name, cs_schema_equal(&file.schema, &cs_schema_facts) ? cs_store_fact(facts, "meta") : "", arg);
    cs_table_close(facts);
    return rc;
}

int cs_store_each_epoch(struct cs_store *store, int (*visit)(const char *epoch, const char *meta, void *arg),
                        void *arg, struct cs_error *err)
{
    struct cs_store_listing listing;
    int rc = cs_store_directory_list(store->path, &listing, err);
    if (rc == 0 && listing.n)
        qsort(listing.names, listing.n, sizeof *listing.names, newest_first);
    for (size_t i = 0; rc == 0 && i < listing.n; i++)
        rc = visit_epoch(store, listing.names[i], visit, arg, err);
    cs_store_listing_fini(&listing);
    return rc;
}

int cs_store_see_only(struct cs_store *store, const char *const *epochs, size_t n, struct cs_error *err)
{
    char **only = n ? calloc(n, sizeof *only) : NULL;
    bool whole = only || !n;
    for (size_t i = 0; whole && i < n; i++)
        whole = (only[i] = strdup(epochs[i])) != NULL;
    if (!whole) {
        for (size_t i = 0; only && i < n; i++)
            free(only[i]);
        free(only);
        return cs_fail(err, ENOMEM, "not enough memory for the epochs of %s", store->path);
    }
    for (size_t i = 0; i < store->n_only; i++)
        free(store->only[i]);
    free(store->only);
    cs_store_refresh(store);
    store->only = only;
    store->n_only = n;
    return 0;
}

bool cs_store_sees(const struct cs_store *store, const char *epoch)
{
    for (size_t i = 0; i < store->n_only; i++)
        if (strcmp(store->only[i], epoch) == 0)
            return true;
    return store->n_only == 0;
}
