/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/coarsen.h"

#include "store/catalog_kept.h"
#include "store/file.h"
#include "store/merge_file.h"
#include "store/store_open.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct cs_table *cs_store_intervals_coarser(struct cs_table *intervals, uint64_t length_ms)
{
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

struct pass {
    struct cs_store *store;
    uint64_t bytes, length_ms; /* length 0: only measure */
    struct cs_error *err;
};

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

static int visit(const struct cs_store_profile_ref *ref, void *arg)
{
    struct pass *pass = arg;
    struct stat st;
    if (ref->kind != CS_KIND_INTERVALS || strcmp(ref->epoch, pass->store->epoch) != 0)
        return 0;
    if (stat(ref->file, &st) == 0)
        pass->bytes += (uint64_t)st.st_size;
    return pass->length_ms ? coarsen_file(ref->file, pass->length_ms, pass->err) : 0;
}

int cs_store_interval_bytes(struct cs_store *store, uint64_t *bytes, struct cs_error *err)
{
    struct pass pass = {.store = store, .err = err};
    int rc = cs_store_each(store, visit, &pass, err);
    *bytes = pass.bytes;
    return rc;
}

int cs_store_coarsen(struct cs_store *store, uint64_t length_ms, struct cs_error *err)
{
    struct pass pass = {.store = store, .length_ms = length_ms, .err = err};
    struct cs_store_pathname epoch;
    int rc = cs_store_pathname_join(&epoch, err, "%s/%s", store->path, store->epoch);
    int lock = rc == 0 ? cs_store_lock(epoch.text, err) : rc;
    if (lock < 0)
        return lock;
    cs_catalog_drop(epoch.text);
    rc = cs_store_each(store, visit, &pass, err);
    cs_store_unlock(lock);
    return rc;
}
