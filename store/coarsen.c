/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/coarsen.h"

#include "store/catalog.h"
#include "store/catalog_kept.h"
#include "store/file.h"
#include "store/merge_file.h"
#include "store/store_open.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct cs_table *cs_store_intervals_coarser(struct cs_table *intervals, uint64_t length_ms)
{
    assert(length_ms > 0);
    struct cs_table *coarser = cs_table_open(&cs_schema_intervals);
    for (size_t i = 0; coarser && i < cs_table_rows(intervals); i++) {
        uint64_t row[4];
        memcpy(row, cs_table_row(intervals, i), sizeof row);
        if (row[0] < length_ms) {
            row[0] = length_ms;
            row[1] -= row[1] % length_ms;
        }
        if (cs_table_add(coarser, row) < 0) {
            cs_table_close(coarser);
            coarser = NULL;
        }
    }
    return coarser;
}

static int coarsen_file(const char *path, uint64_t length_ms, struct cs_error *err)
{
    struct cs_store_profile_file file;
    struct cs_table *old = NULL, *coarser = NULL;
    struct cs_bytes bytes = {0};
    int rc = cs_store_file_load(path, &file, &old, err);
    if (rc < 0)
        return rc;
    coarser = cs_store_intervals_coarser(old, length_ms);
    if (!coarser || cs_store_profile_encode(&file.head, coarser, &bytes) < 0)
        rc = cs_fail(err, ENOMEM, "not enough memory to make the intervals of %s longer", path);
    else
        rc = cs_store_file_replace(path, &bytes, err);
    cs_table_close(coarser);
    cs_table_close(old);
    cs_bytes_fini(&bytes);
    return rc;
}

/* All interval profiles of the current epoch: measured, and where `length_ms` isn't 0, coarsened. */
static int pass(struct cs_store *store, uint64_t length_ms, uint64_t *bytes, struct cs_error *err)
{
    const struct cs_query query = {.kind = CS_KIND_INTERVALS, .epoch = store->epoch};
    const struct cs_catalog *catalog;
    const struct cs_store_profile_ref *ref;
    int rc = cs_store_catalog(store, &catalog, err);
    *bytes = 0;
    for (size_t at = 0; rc == 0 && (ref = cs_catalog_next(catalog, &query, &at));) {
        struct stat st;
        if (stat(ref->file, &st) == 0)
            *bytes += (uint64_t)st.st_size;
        rc = length_ms ? coarsen_file(ref->file, length_ms, err) : 0;
    }
    return rc;
}

int cs_store_interval_bytes(struct cs_store *store, uint64_t *bytes, struct cs_error *err)
{
    return pass(store, 0, bytes, err);
}

int cs_store_coarsen(struct cs_store *store, uint64_t length_ms, struct cs_error *err)
{
    assert(length_ms > 0);
    uint64_t bytes;
    struct cs_store_pathname epoch;
    int rc = cs_store_pathname_join(&epoch, err, "%s/%s", store->path, store->epoch);
    int lock = rc == 0 ? cs_store_lock(epoch.text, err) : rc;
    if (lock < 0)
        return lock;
    cs_catalog_drop(epoch.text);
    rc = pass(store, length_ms, &bytes, err);
    cs_store_refresh(store);
    cs_store_unlock(lock);
    return rc;
}
