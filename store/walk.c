/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reading side of a store: no locks. A file is opened once and read whole, and writers only ever rename whole
 * files into place. So each profile is seen before or after a merge. What disappears meanwhile (gc) is passed
 * over. */
#include "store/catalog.h"
#include "store/file.h"
#include "store/layout.h"
#include "store/merge_file.h"
#include "store/store_open.h"
#include "store/table/schema.h"

#include <errno.h>
#include <string.h>

/* Rows are read as their kind's struct: never those of other columns. */
int cs_store_load(const struct cs_store_profile_ref *ref, struct cs_table **out, struct cs_error *err)
{
    struct cs_store_profile_file file;
    int rc = ref->bytes ? cs_store_profile_decode(ref->bytes, ref->n_bytes, ref->file, &file, out, err)
                        : cs_store_file_load(ref->file, &file, out, err);
    if (rc == 0 && ref->kind && !cs_schema_equal(&file.schema, cs_kind_schema(ref->kind))) {
        cs_table_close(*out);
        *out = NULL;
        rc = cs_fail(err, EBADMSG, "%s was replaced by something else than %s while it was read", ref->file,
                     ref->kind_name);
    }
    return rc;
}

/* Adds the rows of a file, if there is one, to a table of the same kind. */
static int gather(const char *path, struct cs_table *sum, const char *what, struct cs_error *err)
{
    struct cs_store_profile_file file;
    struct cs_table *table = NULL;
    int rc = cs_store_file_load(path, &file, &table, err);
    if (rc == 0 && (rc = cs_table_merge(sum, table)) < 0)
        cs_fail(err, -rc, rc == -EINVAL ? "%s is damaged (it holds no %s)" : "not enough memory for %s", path,
                what);
    cs_table_close(table);
    return rc == -ENOENT ? 0 : rc;
}

int cs_store_names(struct cs_store *store, const char *image_id,
                   int (*visit)(uint64_t offset, uint64_t size, const char *name, void *arg), void *arg,
                   struct cs_error *err)
{
    const struct cs_catalog *catalog;
    struct cs_table *all = cs_table_open(&cs_schema_names);
    int rc = all ? cs_store_catalog(store, &catalog, err)
                 : cs_fail(err, ENOMEM, "not enough memory for the names of %s", image_id);
    for (size_t i = 0; rc == 0 && i < catalog->n_images; i++) {
        const struct cs_catalog_image *image = &catalog->images[i];
        struct cs_store_pathname path;
        if (!image->has_names || strcmp(image->image->id, image_id) != 0)
            continue;
        rc = cs_store_pathname_join(&path, err, "%s/%s/%s/" CS_IMAGE_NAMES, store->path, image->epoch,
                                    image_id);
        rc = rc < 0 ? rc : gather(path.text, all, "names", err);
    }
    for (size_t i = 0; rc == 0 && i < cs_table_rows(all); i++) {
        const uint64_t *row = cs_table_row(all, i);
        rc = visit(row[0], row[1], cs_table_string(all, row[2]), arg);
    }
    cs_table_close(all);
    return rc;
}

int cs_store_counter(struct cs_store *store, const char *counter, uint64_t *sum, struct cs_error *err)
{
    struct cs_store_listing epochs = {0};
    struct cs_table *counters = cs_table_open(&cs_schema_counters);
    *sum = 0;
    int rc = counters ? cs_store_directory_list(store->path, &epochs, err)
                      : cs_fail(err, ENOMEM, "not enough memory to count %s", counter);
    for (size_t i = 0; rc == 0 && i < epochs.n; i++) {
        struct cs_store_pathname path;
        if (!cs_store_sees(store, epochs.names[i]))
            continue;
        rc = cs_store_pathname_join(&path, err, "%s/%s/" CS_EPOCH_COUNTERS, store->path, epochs.names[i]);
        rc = rc < 0 ? rc : gather(path.text, counters, "counters", err);
        rc = rc == -ENOTDIR ? 0 : rc;
    }
    for (size_t i = 0; rc == 0 && i < cs_table_rows(counters); i++) {
        const uint64_t *row = cs_table_row(counters, i);
        if (strcmp(cs_table_string(counters, row[0]), counter) == 0)
            *sum = row[1];
    }
    cs_store_listing_fini(&epochs);
    cs_table_close(counters);
    return rc;
}

int cs_store_load_file(const char *path, struct cs_store_profile_head *head, struct cs_table **out,
                       struct cs_error *err)
{
    struct cs_store_profile_file file;
    int rc = cs_store_file_load(path, &file, out, err);
    *head = file.head;
    return rc;
}
