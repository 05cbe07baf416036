/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One store into another, file by file: each file says by itself how it merges, so that this knows nothing of
 * what is counted. A whole new epoch arrives under a hidden name and is renamed: it is there or it isn't. */
#include "store/catalog_kept.h"
#include "store/file.h"
#include "store/layout.h"
#include "store/merge_file.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct telling {
    void (*step)(void *arg, uint64_t files);
    void *arg;
    uint64_t files;
};

static int combine_file(const char *from, const char *to, struct telling *tell, struct cs_error *err)
{
    struct cs_store_profile_file file;
    struct cs_table *table = NULL;
    int rc = cs_store_file_load(from, &file, &table, err);
    if (rc == 0)
        rc = cs_store_file_merge(to, &file.head, table, NULL, err);
    cs_table_close(table);
    tell->files++;
    if (tell->step)
        tell->step(tell->arg, tell->files);
    return rc;
}

/* All files of one directory; `depth` levels of directories below it. */
static int combine_directory(const char *from, const char *to, int depth, struct telling *tell,
                             struct cs_error *err)
{
    struct cs_store_listing listing = {0};
    int rc = cs_store_directory_make(to, NULL, err);
    if (rc == 0)
        rc = cs_store_directory_list(from, &listing, err);
    if (rc < 0)
        return rc;
    /* What an image is comes before what was counted in it: no profile ever stands without. */
    for (size_t k = 0; rc == 0 && k < 2 * listing.n; k++) {
        const char *name = listing.names[k < listing.n ? k : k - listing.n];
        bool is_meta = cs_store_name_ends(name, ".meta");
        struct cs_store_pathname source, target;
        if (is_meta != (k < listing.n))
            continue;
        struct stat st;
        rc = cs_store_pathname_join(&source, err, "%s/%s", from, name);
        if (rc == 0)
            rc = cs_store_pathname_join(&target, err, "%s/%s", to, name);
        if (rc < 0 || strcmp(name, CS_STORE_LOCK_NAME) == 0 ||
            cs_store_name_ends(name, CS_STORE_FILE_TEMPORARY))
            continue;
        if (stat(source.text, &st) < 0)
            rc = cs_fail(err, errno, "can't look at %s: %s", source.text, strerror(errno));
        else if (S_ISREG(st.st_mode))
            rc = combine_file(source.text, target.text, tell, err);
        else if (S_ISDIR(st.st_mode) && depth > 0)
            rc = combine_directory(source.text, target.text, depth - 1, tell, err);
    }
    cs_store_listing_fini(&listing);
    return rc;
}

static int combine_new_epoch(const char *from, const char *store, const char *name, const char *to,
                             struct telling *tell, struct cs_error *err)
{
    struct cs_store_pathname hidden;
    int rc = cs_store_pathname_join(&hidden, err, "%s/.incoming-%ld-%s", store, (long)getpid(), name);
    if (rc == 0)
        rc = combine_directory(from, hidden.text, 1, tell, err);
    if (rc == 0 && rename(hidden.text, to) < 0)
        rc = cs_fail(err, errno, "can't put the epoch %s in its place: %s", to, strerror(errno));
    return rc;
}

static int combine_into_epoch(const char *from, const char *to, struct telling *tell, struct cs_error *err)
{
    int rc = cs_store_directory_make(to, NULL, err);
    int lock = rc == 0 ? cs_store_lock(to, err) : rc;
    if (lock < 0)
        return lock;
    cs_catalog_drop(to);
    rc = combine_directory(from, to, 1, tell, err);
    cs_store_unlock(lock);
    return rc;
}

int cs_store_combine(const char *to_store, const char *from_store, const char *into, bool add,
                     void (*step)(void *arg, uint64_t files), void *arg, struct cs_error *err)
{
    struct telling tell = {.step = step, .arg = arg};
    struct cs_store_listing listing;
    struct stat a, b;
    int n = 0, rc = cs_store_directory_make(to_store, NULL, err);
    if (rc < 0)
        return rc;
    if (into && (into[0] == '.' || !into[0] || strchr(into, '/')))
        return cs_fail(err, EINVAL, "\"%s\" can't be an epoch's name", into);
    if (stat(to_store, &a) == 0 && stat(from_store, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        return cs_fail(err, EINVAL, "%s can't be merged into itself", from_store);
    rc = cs_store_directory_list(from_store, &listing, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < listing.n; i++) {
        const char *name = into ? into : listing.names[i];
        struct cs_store_pathname from, meta, to;
        rc = cs_store_pathname_join(&from, err, "%s/%s", from_store, listing.names[i]);
        if (rc == 0)
            rc = cs_store_pathname_join(&meta, err, "%s/" CS_EPOCH_META, from.text);
        if (rc == 0)
            rc = cs_store_pathname_join(&to, err, "%s/%s", to_store, name);
        if (rc < 0)
            continue;
        if (access(meta.text, F_OK) < 0) {
            if (errno != ENOENT && errno != ENOTDIR)
                rc = cs_fail(err, errno, "can't look at %s: %s", meta.text, strerror(errno));
            continue;
        }
        bool is_there = access(to.text, F_OK) == 0;
        if (is_there && !add && !into)
            rc = cs_fail(err, EEXIST,
                         "the epoch %s is in %s already; merging it twice would count it twice (--add adds "
                         "it all the same)",
                         name, to_store);
        else if (is_there || into)
            rc = combine_into_epoch(from.text, to.text, &tell, err);
        else
            rc = combine_new_epoch(from.text, to_store, name, to.text, &tell, err);
        if (rc == 0)
            cs_catalog_keep(to.text);
        n += rc == 0;
    }
    cs_store_listing_fini(&listing);
    return rc < 0 ? rc : n;
}
