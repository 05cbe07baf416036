/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One name for a place of an image. */
#ifndef CS_TESTS_UNIT_GIVE_NAME_H
#define CS_TESTS_UNIT_GIVE_NAME_H

#include "store/store.h"
#include "store/table/table.h"

#include <errno.h>

static inline int give_name(struct cs_store *store, const struct cs_store_image *image, uint64_t offset,
                            uint64_t size, const char *name, struct cs_error *err)
{
    struct cs_table *names = cs_table_open(&cs_schema_names);
    int64_t text = names ? cs_table_text(names, name) : -ENOMEM;
    int rc = -ENOMEM;
    if (text < 0 || cs_table_add(names, (uint64_t[]){offset, size, (uint64_t)text}) < 0)
        cs_fail(err, ENOMEM, "not enough memory for the name %s", name);
    else
        rc = cs_store_merge_names(store, image, names, err);
    cs_table_close(names);
    return rc;
}

#endif
