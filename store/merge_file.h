/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One file of a store: read, add, replace. For store/ only; the caller holds the epoch's lock when writing.
 */
#pragma once

#include "store/file.h"
#include "store/profile.h"

/* Adds head and table to what the file holds; writes only where that changes it. -EINVAL where the file holds
 * something that can't be added to (other columns, another unit). `later`: as in file.h. */
int cs_store_file_merge(const char *path, const struct cs_store_profile_head *head, struct cs_table *table,
                        struct cs_store_unsynced *later, struct cs_error *err);
/* All of it; the caller closes *table. */
int cs_store_file_load(const char *path, struct cs_store_profile_file *file, struct cs_table **table,
                       struct cs_error *err);

/* A fact is a (name, value) pair of a set; image.meta and epoch.meta are such sets. */
int cs_store_fact_add(struct cs_table *facts, const char *name, const char *value);
/* First value of that name in strcmp order, "" when there is none. */
const char *cs_store_fact(struct cs_table *facts, const char *name);
