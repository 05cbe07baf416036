/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/merge_file.h"
#include "store/contexts.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int cs_store_file_load(const char *path, struct cs_store_profile_file *file, struct cs_table **table,
                       struct cs_error *err)
{
    struct cs_bytes bytes = {0};
    uint64_t file_bytes = 0;
    *table = NULL;
    int rc = cs_store_file_read(path, UINT64_MAX, &bytes, &file_bytes, err);
    if (rc == 0)
        rc = cs_store_profile_decode(bytes.start, bytes.used, path, file, table, err);
    cs_bytes_fini(&bytes);
    return rc;
}

int cs_store_file_merge(const char *path, const struct cs_store_profile_head *head, struct cs_table *table,
                        struct cs_store_unsynced *later, struct cs_error *err)
{
    struct cs_bytes before = {0}, after = {0};
    struct cs_table *old = NULL;
    struct cs_store_profile_file file;
    uint64_t file_bytes = 0;

    int rc = cs_store_file_read(path, UINT64_MAX, &before, &file_bytes, err);
    if (rc == -ENOENT) {
        file.head = *head;
        rc = 0;
    } else if (rc == 0) {
        rc = cs_store_profile_decode(before.start, before.used, path, &file, &old, err);
        if (rc == 0 && (!cs_schema_equal(&file.schema, cs_table_schema(table)) ||
                        cs_store_profile_head_merge(&file.head, head) < 0))
            rc = cs_fail(err, EINVAL, "%s holds %s of %s in \"%s\": %s of %s in \"%s\" can't be added to it",
                         path, file.schema.kind, file.head.event, file.head.unit,
                         cs_table_schema(table)->kind, head->event, head->unit);
        if (rc == 0 && cs_table_merge(old, table) < 0)
            rc = cs_fail(err, ENOMEM, "not enough memory to merge into %s", path);
    }
    if (rc == 0 && cs_schema_equal(cs_table_schema(table), &cs_schema_contexts) &&
        cs_contexts_fold_table(old ? old : table, CS_CONTEXTS_NODES_MAX) < 0)
        rc = cs_fail(err, ENOMEM, "not enough memory to fold the contexts of %s", path);
    if (rc == 0 && cs_store_profile_encode(&file.head, old ? old : table, &after) < 0)
        rc = cs_fail(err, ENOMEM, "not enough memory to write %s", path);
    bool same = after.used == before.used && after.used && memcmp(after.start, before.start, after.used) == 0;
    if (rc == 0 && !same)
        rc = cs_store_file_replace_later(path, &after, later, err);
    cs_table_close(old);
    cs_bytes_fini(&before);
    cs_bytes_fini(&after);
    return rc;
}

int cs_store_fact_add(struct cs_table *facts, const char *name, const char *value)
{
    assert(name && value);
    int64_t n = cs_table_text(facts, name), v = cs_table_text(facts, value);
    return n < 0 || v < 0 ? -ENOMEM : cs_table_add(facts, (uint64_t[]){(uint64_t)n, (uint64_t)v});
}

const char *cs_store_fact(struct cs_table *facts, const char *name)
{
    for (size_t i = 0; i < cs_table_rows(facts); i++) {
        const uint64_t *row = cs_table_row(facts, i);
        if (strcmp(cs_table_string(facts, row[0]), name) == 0)
            return cs_table_string(facts, row[1]);
    }
    return "";
}
