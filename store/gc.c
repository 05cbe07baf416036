/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removing whole epochs. An epoch is first renamed to a name with a dot (readers pass those over), then
 * deleted piece by piece. Nobody ever sees half of one, and a crash leaves only what the next gc removes. */
#include "store/file.h"
#include "store/kept_code.h"
#include "store/layout.h"
#include "store/retention.h"
#include "store/store.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LEFTOVER_AGE_S 3600 /* a hidden directory this old belongs to nobody any more */

/* Bytes as the file system counts them, and the last write of anything in the epoch. */
static int measure(const char *path, struct cs_store_epoch_extent *extent)
{
    char *const paths[] = {(char *)path, NULL};
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!walk)
        return -errno;
    for (FTSENT *entry; (entry = fts_read(walk)) != NULL;) {
        if (entry->fts_info != FTS_F && entry->fts_info != FTS_D)
            continue;
        if (entry->fts_info == FTS_F)
            extent->bytes += (uint64_t)entry->fts_statp->st_size;
        if (entry->fts_statp->st_mtim.tv_sec > extent->written_s)
            extent->written_s = entry->fts_statp->st_mtim.tv_sec;
    }
    fts_close(walk);
    return 0;
}

uint64_t cs_store_epoch_bytes(const struct cs_store *store)
{
    struct cs_store_pathname path;
    struct cs_error ignored = {0};
    struct cs_store_epoch_extent extent = {.bytes = 0};
    if (cs_store_pathname_join(&path, &ignored, "%s/%s", cs_store_path(store), cs_store_epoch_name(store)) ==
        0)
        (void)measure(path.text, &extent);
    return extent.bytes;
}

static int remove_tree(const char *path)
{
    char *const paths[] = {(char *)path, NULL};
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    int rc = walk ? 0 : -errno;
    for (FTSENT *entry; walk && (entry = fts_read(walk)) != NULL;)
        if (entry->fts_info != FTS_D && remove(entry->fts_accpath) < 0 && errno != ENOENT)
            rc = -errno;
    if (walk)
        fts_close(walk);
    return rc;
}

/* Under the epoch's lock, so that no merge is cut in two. */
static int remove_epoch(const char *store, const char *name, struct cs_error *err)
{
    struct cs_store_pathname path, hidden;
    int rc = cs_store_pathname_join(&path, err, "%s/%s", store, name);
    if (rc == 0)
        rc = cs_store_pathname_join(&hidden, err, "%s/.gone-%s", store, name);
    if (rc < 0)
        return rc;
    int lock = cs_store_lock(path.text, err);
    if (lock < 0)
        return lock == -ENOENT ? 0 : lock;
    if (rename(path.text, hidden.text) < 0)
        rc = -errno;
    cs_store_unlock(lock);
    if (rc == 0)
        rc = remove_tree(hidden.text);
    return rc < 0 ? cs_fail(err, -rc, "can't remove the epoch %s: %s", path.text, strerror(-rc)) : 0;
}

static void remove_leftovers(const char *store)
{
    static const char *const prefixes[] = {".gone-", ".incoming-"};
    char *const paths[] = {(char *)store, NULL};
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *entry; walk && (entry = fts_read(walk)) != NULL;) {
        if (entry->fts_level != 1 || entry->fts_info != FTS_D)
            continue;
        fts_set(walk, entry, FTS_SKIP);
        bool ours = false;
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
            ours = ours || strncmp(entry->fts_name, prefixes[i], strlen(prefixes[i])) == 0;
        if (ours && time(NULL) - entry->fts_statp->st_ctim.tv_sec > LEFTOVER_AGE_S)
            remove_tree(entry->fts_path);
    }
    if (walk)
        fts_close(walk);
}

int cs_store_gc(const char *path, const struct cs_store_retention *retention, const char *epoch_in_use,
                void (*removed)(const char *epoch, uint64_t bytes, void *arg), void *arg,
                struct cs_error *err)
{
    struct cs_store_listing listing;
    int rc = cs_store_directory_list(path, &listing, err), n_removed = 0;
    if (rc < 0)
        return rc;
    size_t n = 0;
    struct cs_store_epoch_extent *epochs = calloc(listing.n ? listing.n : 1, sizeof *epochs);
    if (!epochs)
        rc = cs_fail(err, ENOMEM, "not enough memory to look through %s", path);
    for (size_t i = 0; rc == 0 && i < listing.n; i++) {
        struct cs_store_pathname epoch, meta;
        rc = cs_store_pathname_join(&epoch, err, "%s/%s", path, listing.names[i]);
        if (rc == 0)
            rc = cs_store_pathname_join(&meta, err, "%s/" CS_EPOCH_META, epoch.text);
        /* What has no epoch.meta is no epoch of ours: not to be removed. */
        if (rc < 0 || access(meta.text, F_OK) < 0)
            continue;
        epochs[n].name = listing.names[i];
        epochs[n].in_use = epoch_in_use && strcmp(epoch_in_use, listing.names[i]) == 0;
        if (measure(epoch.text, &epochs[n]) == 0)
            n++;
    }
    if (rc == 0) {
        cs_store_retention_choose(retention, time(NULL), epochs, n);
        remove_leftovers(path);
    }
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (!epochs[i].goes)
            continue;
        rc = remove_epoch(path, epochs[i].name, err);
        if (rc == 0) {
            n_removed++;
            if (removed)
                removed(epochs[i].name, epochs[i].bytes, arg);
        }
    }
    if (n_removed)
        cs_kept_code_sweep(path);
    free(epochs);
    cs_store_listing_fini(&listing);
    return rc < 0 ? rc : n_removed;
}
