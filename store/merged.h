/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings that span epochs: profiles added up, and what the epochs say of themselves. */
#ifndef CS_STORE_MERGED_H
#define CS_STORE_MERGED_H

#include "store/store.h"

/* Reads a profile's table and adds it to *into, which is NULL before the first. The caller closes it. */
int cs_store_load_into(const struct cs_store_profile_ref *ref, struct cs_table **into, struct cs_error *err);

/* Calls `visit` with the JSON text that each epoch was begun with, newest first; stops at its first non-zero
 * return and returns that. Epochs without any are passed over, and so are damaged ones. */
int cs_store_each_meta(struct cs_store *store, int (*visit)(const char *epoch, const char *json, void *arg),
                       void *arg, struct cs_error *err);

#endif
