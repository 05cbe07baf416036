/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an open store is. For store/ only. */
#pragma once

#include "store/file.h"
#include "store/store.h"
#include "store/times.h"

struct cs_store {
    char *path;
    enum cs_store_mode mode;
    char epoch[128]; /* "" = none started */
    char **only;     /* epochs that readings see; NULL = all */
    size_t n_only;
    struct cs_store_epoch *epochs;
    size_t n_epochs, epochs_capacity;
    struct cs_store_catalog *catalog;   /* NULL: not asked for yet */
    bool timed, whole_epochs, seen_any; /* by cs_store_see_times */
    struct cs_store_times asked;
    struct cs_store_seen seen;
    void *attached;
    void (*destroy)(void *attached);
    bool batch;
    struct cs_store_unsynced unsynced; /* directories of this batch */
};

void cs_store_epochs_forget(struct cs_store *store);
