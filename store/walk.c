/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reading side of a store: no locks. A file is opened once and read whole, and writers only ever rename
 * whole files into place, so that each profile is seen before or after a merge. What disappears under the
 * walk (gc) is passed over. */
#include "store/file.h"
#include "store/layout.h"
#include "store/merge_file.h"
#include "store/store.h"
#include "store/store_open.h"
#include "store/table/schema.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 1 yes, 0 no or gone, negative errno when nobody can tell: then something would be missed. */
static int is_directory(const char *path, struct cs_error *err)
{
    struct stat st;
    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode);
    return errno == ENOENT ? 0 : cs_fail(err, errno, "can't look at %s: %s", path, strerror(errno));
}

/* Calls `visit` with each directory in `path`; stops at its first non-zero result. A directory that is gone
 * has none. */
static int each_directory(const char *path, int (*visit)(const char *path, const char *name, void *arg),
                          void *arg, struct cs_error *err)
{
    struct cs_store_listing listing;
    int rc = cs_store_directory_list(path, &listing, err);
    if (rc < 0)
        return rc == -ENOENT ? 0 : rc;
    for (size_t i = 0; rc == 0 && i < listing.n; i++) {
        struct cs_store_pathname below;
        rc = cs_store_pathname_join(&below, err, "%s/%s", path, listing.names[i]);
        int is = rc == 0 ? is_directory(below.text, err) : rc;
        rc = is > 0 ? visit(below.text, listing.names[i], arg) : is;
    }
    cs_store_listing_fini(&listing);
    return rc;
}

struct walk {
    struct cs_store *store;
    const char *epoch, *only_image;
    int (*visit)(const struct cs_store_profile_ref *ref, void *arg);
    int (*visit_image)(struct walk *walk, const char *path, const char *id);
    int (*visit_meta)(const char *epoch, const struct cs_store_image *image, void *arg);
    void *arg;
    struct cs_error *err;
};

static int image_load(const char *directory, const char *id, struct cs_store_image *image,
                      struct cs_table **facts, struct cs_error *err)
{
    struct cs_store_pathname path;
    struct cs_store_profile_file file;
    *image = (struct cs_store_image){.path = "", .build_id = ""};
    *facts = NULL;
    if (!cs_store_image_id_valid(id))
        return cs_fail(err, EBADMSG, "%s is no image's directory: its name can't be an image's id",
                       directory);
    snprintf(image->id, sizeof image->id, "%s", id);
    int rc = cs_store_pathname_join(&path, err, "%s/" CS_IMAGE_META, directory);
    if (rc == 0)
        rc = cs_store_file_load(path.text, &file, facts, err);
    if (rc < 0)
        return rc;
    if (!cs_schema_equal(cs_table_schema(*facts), &cs_schema_facts)) {
        cs_table_close(*facts);
        *facts = NULL;
        return cs_fail(err, EBADMSG, "%s is damaged (it holds no facts about an image)", path.text);
    }
    image->kind = (enum cs_store_image_kind)strtoul(cs_store_fact(*facts, "kind"), NULL, 10);
    image->path = cs_store_fact(*facts, "path");
    image->build_id = cs_store_fact(*facts, "build-id");
    return 0;
}

static int visit_profiles(struct walk *walk, const char *directory, const char *id)
{
    struct cs_store_image image;
    struct cs_table *facts = NULL;
    struct cs_store_listing listing;
    int rc = cs_store_directory_list(directory, &listing, walk->err);
    if (rc < 0)
        return rc == -ENOENT ? 0 : rc;
    for (size_t i = 0; rc == 0 && i < listing.n; i++) {
        struct cs_store_pathname path;
        struct cs_store_profile_file file;
        if (!cs_store_name_ends(listing.names[i], CS_PROFILE_SUFFIX))
            continue;
        rc = cs_store_pathname_join(&path, walk->err, "%s/%s", directory, listing.names[i]);
        if (rc == 0)
            rc = cs_store_file_head(path.text, &file, walk->err);
        if (rc == 0 && !facts)
            rc = image_load(directory, id, &image, &facts, walk->err);
        if (rc == -ENOENT && access(path.text, F_OK) < 0) {
            rc = 0; /* removed between listing and reading */
            continue;
        }
        if (rc == 0)
            rc = walk->visit(&(struct cs_store_profile_ref){.epoch = walk->epoch,
                                                            .image = &image,
                                                            .head = &file.head,
                                                            .kind = file.schema.kind,
                                                            .file = path.text,
                                                            .checksum = file.body_checksum},
                             walk->arg);
    }
    cs_table_close(facts);
    cs_store_listing_fini(&listing);
    return rc;
}

static int visit_image(const char *path, const char *name, void *arg)
{
    struct walk *walk = arg;
    if (walk->only_image && strcmp(walk->only_image, name) != 0)
        return 0;
    return walk->visit_image(walk, path, name);
}

static int visit_epoch(const char *path, const char *name, void *arg)
{
    struct walk *walk = arg;
    if (!cs_store_sees(walk->store, name))
        return 0;
    walk->epoch = name;
    return each_directory(path, visit_image, walk, walk->err);
}

/* A walk that fails because of the callback must not look like one that failed by itself: err->code tells. */
static int walk_images(struct walk *walk)
{
    walk->err->code = 0;
    struct cs_store_pathname path;
    int rc = cs_store_pathname_join(&path, walk->err, "%s", walk->store->path);
    if (rc < 0)
        return rc;
    int is = is_directory(path.text, walk->err);
    if (is <= 0)
        return is < 0 ? is : cs_fail(walk->err, ENOENT, "there is no store at %s", path.text);
    return each_directory(path.text, visit_epoch, walk, walk->err);
}

int cs_store_each_of(struct cs_store *store, const char *image_id,
                     int (*visit)(const struct cs_store_profile_ref *ref, void *arg), void *arg,
                     struct cs_error *err)
{
    struct walk walk = {.store = store,
                        .only_image = image_id,
                        .visit = visit,
                        .visit_image = visit_profiles,
                        .arg = arg,
                        .err = err};
    return walk_images(&walk);
}

int cs_store_each(struct cs_store *store, int (*visit)(const struct cs_store_profile_ref *ref, void *arg),
                  void *arg, struct cs_error *err)
{
    return cs_store_each_of(store, NULL, visit, arg, err);
}

static int visit_image_meta(struct walk *walk, const char *directory, const char *id)
{
    struct cs_store_image image;
    struct cs_table *facts = NULL;
    int rc = image_load(directory, id, &image, &facts, walk->err);
    if (rc == 0)
        rc = walk->visit_meta(walk->epoch, &image, walk->arg);
    cs_table_close(facts);
    return rc == -ENOENT ? 0 : rc;
}

int cs_store_each_image(struct cs_store *store,
                        int (*visit)(const char *epoch, const struct cs_store_image *image, void *arg),
                        void *arg, struct cs_error *err)
{
    struct walk walk = {
        .store = store, .visit_image = visit_image_meta, .visit_meta = visit, .arg = arg, .err = err};
    return walk_images(&walk);
}

int cs_store_load(const struct cs_store_profile_ref *ref, struct cs_table **out, struct cs_error *err)
{
    struct cs_store_profile_file file;
    return cs_store_file_load(ref->file, &file, out, err);
}

int cs_store_load_file(const char *path, struct cs_store_profile_head *head, struct cs_table **out,
                       struct cs_error *err)
{
    struct cs_store_profile_file file;
    int rc = cs_store_file_load(path, &file, out, err);
    *head = file.head;
    return rc;
}

/* Adds the file's rows to walk->arg, a table. */
static int gather_names(struct walk *walk, const char *directory, const char *id)
{
    (void)id;
    struct cs_store_pathname path;
    struct cs_store_profile_file file;
    struct cs_table *names = NULL;
    int rc = cs_store_pathname_join(&path, walk->err, "%s/" CS_IMAGE_NAMES, directory);
    if (rc == 0)
        rc = cs_store_file_load(path.text, &file, &names, walk->err);
    if (rc == 0 && (rc = cs_table_merge(walk->arg, names)) < 0)
        cs_fail(walk->err, -rc,
                rc == -EINVAL ? "%s is damaged (it holds no names)" : "not enough memory for %s", path.text);
    cs_table_close(names);
    return rc == -ENOENT ? 0 : rc;
}

int cs_store_names(struct cs_store *store, const char *image_id,
                   int (*visit)(uint64_t offset, uint64_t size, const char *name, void *arg), void *arg,
                   struct cs_error *err)
{
    struct cs_table *all = cs_table_open(&cs_schema_names);
    if (!all)
        return cs_fail(err, ENOMEM, "not enough memory for the names of %s", image_id);
    struct walk walk = {
        .store = store, .only_image = image_id, .visit_image = gather_names, .arg = all, .err = err};
    int rc = walk_images(&walk);
    for (size_t i = 0; rc == 0 && i < cs_table_rows(all); i++) {
        const uint64_t *row = cs_table_row(all, i);
        rc = visit(row[0], row[1], cs_table_string(all, row[2]), arg);
    }
    cs_table_close(all);
    return rc;
}

struct counting {
    const struct cs_store *store;
    const char *counter;
    struct cs_table *counters;
    struct cs_error *err;
};

static int gather_counters(const char *epoch, const char *name, void *arg)
{
    struct counting *counting = arg;
    if (!cs_store_sees(counting->store, name))
        return 0;
    struct cs_store_pathname path;
    struct cs_store_profile_file file;
    struct cs_table *counters = NULL;
    int rc = cs_store_pathname_join(&path, counting->err, "%s/" CS_EPOCH_COUNTERS, epoch);
    if (rc == 0)
        rc = cs_store_file_load(path.text, &file, &counters, counting->err);
    if (rc == 0 && (rc = cs_table_merge(counting->counters, counters)) < 0)
        cs_fail(counting->err, -rc,
                rc == -EINVAL ? "%s is damaged (it holds no counters)" : "not enough memory for %s",
                path.text);
    cs_table_close(counters);
    return rc == -ENOENT ? 0 : rc;
}

int cs_store_counter(struct cs_store *store, const char *counter, uint64_t *sum, struct cs_error *err)
{
    struct counting counting = {store, counter, cs_table_open(&cs_schema_counters), err};
    *sum = 0;
    if (!counting.counters)
        return cs_fail(err, ENOMEM, "not enough memory to count %s", counter);
    int rc = each_directory(store->path, gather_counters, &counting, err);
    for (size_t i = 0; rc == 0 && i < cs_table_rows(counting.counters); i++) {
        const uint64_t *row = cs_table_row(counting.counters, i);
        if (strcmp(cs_table_string(counting.counters, row[0]), counter) == 0)
            *sum = row[1];
    }
    cs_table_close(counting.counters);
    return rc;
}
