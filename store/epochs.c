/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Epochs' names begin with their time; those of one second and host end in -2, -3, ..., -10: strverscmp is their
 * order. What isn't seen isn't opened. */
#include "store/base/array.h"
#include "store/base/order.h"
#include "store/catalog.h"
#include "store/file.h"
#include "store/layout.h"
#include "store/merge_file.h"
#include "store/store.h"
#include "store/store_open.h"
#include "store/table/schema.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

CS_ORDER(newest_first, char *, strverscmp(*b, *a))

/* "20261121T134135Z", with thousandths of a second before the Z, in ms; 0 where it is no such time. */
static uint64_t time_of(const char *text)
{
    struct tm utc = {0};
    unsigned ms = 0;
    const char *end = strptime(text, "%Y%m%dT%H%M%S", &utc);
    time_t s = end && (*end == 'Z' || sscanf(end, ".%3uZ", &ms) == 1) ? timegm(&utc) : 0;
    return s > 0 ? (uint64_t)s * 1000 + ms : 0;
}

/* Epochs that were folded into one have several beginnings. Without an end (it goes on, or was cut off) the last write
 * counts. */
static struct cs_store_times times_of(struct cs_table *facts, const char *name, const char *epoch)
{
    struct cs_store_times t = {facts ? time_of(cs_store_fact(facts, "started")) : 0, 0};
    struct cs_store_pathname path;
    struct cs_error ignored;
    struct stat st;
    if (!t.from_ms)
        t.from_ms = time_of(name);
    for (size_t i = 0; facts && i < cs_table_rows(facts); i++) {
        const uint64_t *row = cs_table_row(facts, i);
        uint64_t end = strcmp(cs_table_string(facts, row[0]), "ended") == 0
                           ? time_of(cs_table_string(facts, row[1]))
                           : 0;
        t.to_ms = end > t.to_ms ? end : t.to_ms;
    }
    static const char *const written[] = {CS_EPOCH_COUNTERS, CS_EPOCH_META};
    for (unsigned i = 0; !t.to_ms && i < 2; i++)
        if (cs_store_pathname_join(&path, &ignored, "%s/%s", epoch, written[i]) == 0 &&
            stat(path.text, &st) == 0)
            t.to_ms = (uint64_t)st.st_mtim.tv_sec * 1000 + (uint64_t)st.st_mtim.tv_nsec / 1000000;
    t.to_ms = t.to_ms > t.from_ms ? t.to_ms : t.from_ms + 1;
    return t;
}

/* A stranger's directory is no epoch. What can't be read has no text. */
static int add_epoch(struct cs_store *store, const char *name, struct cs_error *err)
{
    struct cs_store_pathname path, meta;
    struct cs_store_profile_file file;
    struct cs_table *facts = NULL;
    struct cs_error unread = {0};
    int rc = cs_store_pathname_join(&path, err, "%s/%s", store->path, name);
    rc = rc < 0 ? rc : cs_store_pathname_join(&meta, err, "%s/" CS_EPOCH_META, path.text);
    if (rc < 0 || access(meta.text, F_OK) < 0)
        return rc;
    if (cs_store_file_load(meta.text, &file, &facts, &unread) == 0 &&
        !cs_schema_equal(&file.schema, &cs_schema_facts)) {
        cs_table_close(facts);
        facts = NULL;
    }
    struct cs_store_epoch epoch = {strdup(name), strdup(facts ? cs_store_fact(facts, "meta") : ""),
                                   times_of(facts, name, path.text)};
    cs_table_close(facts);
    if (epoch.name && epoch.meta &&
        cs_array_room(store->epochs, store->n_epochs, store->epochs_capacity) == 0) {
        store->epochs[store->n_epochs++] = epoch;
        return 0;
    }
    free((char *)epoch.name);
    free((char *)epoch.meta);
    return cs_fail(err, ENOMEM, "not enough memory for the epochs of %s", store->path);
}

void cs_store_epochs_forget(struct cs_store *store)
{
    assert(store->n_epochs <= store->epochs_capacity);
    for (size_t i = 0; i < store->n_epochs; i++) {
        free((char *)store->epochs[i].name);
        free((char *)store->epochs[i].meta);
    }
    free(store->epochs);
    store->epochs = NULL;
    store->n_epochs = store->epochs_capacity = 0;
}

int cs_store_epochs(struct cs_store *store, const struct cs_store_epoch **out, size_t *n,
                    struct cs_error *err)
{
    struct cs_store_listing listing;
    int rc = cs_store_directory_list(store->path, &listing, err);
    cs_store_epochs_forget(store);
    if (rc == 0 && listing.n)
        cs_sort(listing.names, listing.n, newest_first);
    for (size_t i = 0; rc == 0 && i < listing.n; i++)
        rc = add_epoch(store, listing.names[i], err);
    cs_store_listing_fini(&listing);
    assert(store->n_epochs < 2 || strverscmp(store->epochs[0].name, store->epochs[1].name) > 0);
    *out = store->epochs;
    *n = rc == 0 ? store->n_epochs : 0;
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
