/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up what the walk finds; epochs are ordered by their names, which begin with the time. */
#include "store/merged.h"
#include "store/layout.h"
#include "store/merge_file.h"
#include "store/table/schema.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cs_store_load_into(const struct cs_store_profile_ref *ref, struct cs_table **into, struct cs_error *err)
{
    struct cs_table *table = NULL;
    int rc = cs_store_load(ref, &table, err);
    if (rc < 0)
        return rc;
    if (!*into) {
        *into = table;
        return 0;
    }
    rc = cs_table_merge(*into, table);
    cs_table_close(table);
    return rc < 0 ? cs_fail(err, -rc, "%s can't be added to the other epochs: %s", ref->file, strerror(-rc))
                  : 0;
}

static int newest_first(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*b)->d_name, (*a)->d_name);
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int cs_store_each_meta(struct cs_store *store, int (*visit)(const char *epoch, const char *json, void *arg),
                       void *arg, struct cs_error *err)
{
    struct dirent **epochs;
    int n = scandir(cs_store_path(store), &epochs, not_hidden, newest_first), rc = 0;
    if (n < 0)
        return cs_fail(err, errno, "can't list %s: %s", cs_store_path(store), strerror(errno));
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];
        struct cs_store_profile_head head;
        struct cs_table *facts = NULL;
        struct cs_error ignored = {0};
        int length =
            snprintf(path, sizeof path, "%s/%s/" CS_EPOCH_META, cs_store_path(store), epochs[i]->d_name);
        if (rc == 0 && length < (int)sizeof path && cs_store_sees(store, epochs[i]->d_name) &&
            cs_store_load_file(path, &head, &facts, &ignored) == 0) {
            const char *json =
                cs_schema_equal(cs_table_schema(facts), &cs_schema_facts) ? cs_store_fact(facts, "meta") : "";
            rc = *json ? visit(epochs[i]->d_name, json, arg) : 0;
            cs_table_close(facts);
        }
        free(epochs[i]);
    }
    free(epochs);
    return rc;
}
