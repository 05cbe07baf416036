/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/merged.h"

#include <assert.h>
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
    assert(*into != table);
    rc = cs_table_merge(*into, table);
    cs_table_close(table);
    return rc < 0 ? cs_fail(err, -rc, "%s can't be added to the other epochs: %s", ref->file, strerror(-rc))
                  : 0;
}
