/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writing side of a store: epochs, merges, counters, names. dcpi-1997 section 4.3.3. Every write is
 * "read the file, add, replace it" under the epoch's lock. The encoding is canonical, so that a merge which
 * changes nothing writes nothing. */
#include "store/store.h"

#include "store/catalog.h"
#include "store/catalog_kept.h"
#include "store/file.h"
#include "store/layout.h"
#include "store/merge_file.h"
#include "store/store_open.h"
#include "store/table/schema.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool is_ours(uid_t owner)
{
    const char *asked =
        geteuid() == 0 ? getenv("SUDO_UID") : NULL; /* who called sudo may do what root does */
    return owner == 0 || owner == geteuid() || (asked && strtoul(asked, NULL, 10) == owner);
}

/* A writer makes folders: not by a link of a stranger's, nor where a stranger can put one. */
static int check_owner(const char *path, struct cs_error *err)
{
    char part[CS_STORE_PATHNAME_MAX];
    struct stat st;
    for (size_t n = 1; n <= strlen(path) && n < sizeof part; n++) {
        if (path[n] != '/' && path[n] != '\0')
            continue;
        snprintf(part, sizeof part, "%.*s", (int)n, path);
        if (lstat(part, &st) == 0 && S_ISLNK(st.st_mode) && !is_ours(st.st_uid))
            return cs_fail(err, EPERM, "%s is a link of user %u: give a store that is not behind it", part,
                           st.st_uid);
    }
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) && (!is_ours(st.st_uid) || st.st_mode & S_IWOTH))
        return cs_fail(err, EPERM, "%s %s: give a store of your own (-o)", path,
                       st.st_mode & S_IWOTH ? "may be written by everybody" : "belongs to another user");
    return 0;
}

int cs_store_check_place(const struct cs_store *store, struct cs_error *err)
{
    char path[PATH_MAX];
    struct stat st;
    if (!realpath(store->path, path))
        return cs_fail(err, errno, "%s can't be resolved: %s", store->path, strerror(errno));
    for (char *slash; (slash = strrchr(path, '/')) > path;) {
        *slash = '\0';
        if (stat(path, &st) == 0 &&
            (!is_ours(st.st_uid) || (st.st_mode & S_IWOTH && !(st.st_mode & S_ISVTX))))
            return cs_fail(err, EPERM, "%s %s, who could replace the store: give a store elsewhere (-o)",
                           path,
                           is_ours(st.st_uid) ? "may be written by everybody" : "belongs to another user");
    }
    return 0;
}

int cs_store_open(const char *path, enum cs_store_mode mode, struct cs_store **out, struct cs_error *err)
{
    *out = NULL;
    if (mode == CS_STORE_WRITE) {
        int rc = check_owner(path, err);
        if (rc == 0)
            rc = cs_store_directory_make(path, NULL, err);
        if (rc < 0)
            return rc;
    }
    struct stat st;
    if (stat(path, &st) < 0)
        return errno == ENOENT
                   ? cs_fail(err, ENOENT, "there is no store at %s: record into it first, or give --store",
                             path)
                   : cs_fail(err, errno, "there is no store at %s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return cs_fail(err, ENOTDIR, "%s is not a store: a store is a directory", path);
    struct cs_store *store = calloc(1, sizeof *store);
    if (!store || !(store->path = strdup(path))) {
        free(store);
        return cs_fail(err, ENOMEM, "not enough memory to open the store %s", path);
    }
    store->mode = mode;
    *out = store;
    return 0;
}

static void end_epoch(struct cs_store *store);

void cs_store_close(struct cs_store *store)
{
    if (!store)
        return;
    if (store->attached)
        store->destroy(store->attached);
    cs_store_batch_end(store);
    end_epoch(store);
    cs_store_refresh(store);
    cs_store_epochs_forget(store);
    for (size_t i = 0; i < store->n_only; i++)
        free(store->only[i]);
    free(store->only);
    free(store->path);
    free(store);
}

void cs_store_attach(struct cs_store *store, void *what, void (*destroy)(void *what))
{
    store->attached = what;
    store->destroy = destroy;
}

void *cs_store_attached(const struct cs_store *store)
{
    return store->attached;
}

const char *cs_store_path(const struct cs_store *store)
{
    return store->path;
}

void cs_store_batch_begin(struct cs_store *store)
{
    store->batch = true;
}

void cs_store_batch_end(struct cs_store *store)
{
    cs_store_unsynced_sync(&store->unsynced);
    store->batch = false;
}

static struct cs_store_unsynced *later(struct cs_store *store)
{
    return store->batch ? &store->unsynced : NULL;
}

const char *cs_store_epoch_name(const struct cs_store *store)
{
    return store->epoch;
}

/* The host's name as a part of a file's name. */
static void host_part(char *host, size_t size)
{
    if (gethostname(host, size) < 0)
        snprintf(host, size, "host");
    host[size - 1] = '\0';
    for (char *c = host; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_-.", *c))
            *c = '_';
}

/* With thousandths: a second may have the beginnings of several short runs. */
static void now_in_utc(char text[32])
{
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(text, 32, "%Y%m%dT%H%M%S", &utc);
    snprintf(text + n, 32 - n, ".%03uZ", (unsigned)(now.tv_nsec / 1000000));
}

static int write_epoch_meta(const struct cs_store *store, const char *host, const char *started,
                            const char *meta, struct cs_error *err)
{
    struct cs_store_pathname path;
    int rc = cs_store_pathname_join(&path, err, "%s/%s/" CS_EPOCH_META, store->path, store->epoch);
    if (rc < 0)
        return rc;
    struct cs_table *facts = cs_table_open(&cs_schema_facts);
    if (!facts || cs_store_fact_add(facts, "host", host) < 0 ||
        cs_store_fact_add(facts, "started", started) < 0 ||
        (meta && cs_store_fact_add(facts, "meta", meta) < 0))
        rc = cs_fail(err, ENOMEM, "not enough memory to start an epoch");
    else
        rc = cs_store_file_merge(path.text, &(struct cs_store_profile_head){.event = "epoch"}, facts, NULL,
                                 err);
    cs_table_close(facts);
    return rc;
}

int cs_store_epoch(struct cs_store *store, const char *meta, struct cs_error *err)
{
    char host[64], started[32];
    struct cs_store_pathname path;
    bool made = false;

    if (store->mode != CS_STORE_WRITE)
        return cs_fail(err, EACCES, "the store %s is open for reading", store->path);
    end_epoch(store);
    host_part(host, sizeof host);
    now_in_utc(started);
    int rc = cs_store_directory_make(store->path, NULL, err); /* it may have been removed meanwhile */
    for (unsigned i = 1; rc == 0 && !made; i++) {
        char suffix[16] = "";
        if (i > 1)
            snprintf(suffix, sizeof suffix, "-%u", i);
        snprintf(store->epoch, sizeof store->epoch, "%.15sZ-%s%s", started, host, suffix);
        rc = cs_store_pathname_join(&path, err, "%s/%s", store->path, store->epoch);
        if (rc == 0)
            rc = cs_store_directory_make(path.text, &made, err);
    }
    if (rc == 0)
        rc = write_epoch_meta(store, host, started, meta, err);
    if (rc < 0)
        store->epoch[0] = '\0';
    return rc;
}

/* Locks the current epoch; the lock's descriptor or a negative errno. */
static int lock_epoch(struct cs_store *store, struct cs_error *err)
{
    struct cs_store_pathname path;
    if (!store->epoch[0])
        return cs_fail(err, EINVAL, "no epoch was started in the store %s", store->path);
    int rc = cs_store_pathname_join(&path, err, "%s/%s", store->path, store->epoch);
    if (rc == 0)
        rc = cs_store_lock(path.text, err);
    if (rc >= 0) {
        cs_catalog_drop(path.text);
        cs_store_refresh(store);
    }
    if (rc == -ENOENT)
        cs_fail(err, ENOENT, "the epoch %s is gone from the store %s: somebody removed it; start a new one",
                store->epoch, store->path);
    return rc;
}

/* Its writer has done with the epoch: nobody but a merge of stores adds to it. That an end can't be written costs
 * readers time, and the epoch's end is the last write's then. */
static void end_epoch(struct cs_store *store)
{
    struct cs_store_pathname path, meta;
    struct cs_error ignored;
    char ended[32];
    int lock = store->epoch[0] ? lock_epoch(store, &ignored) : -1;
    if (lock < 0)
        return;
    now_in_utc(ended);
    struct cs_table *facts = cs_table_open(&cs_schema_facts);
    int rc = cs_store_pathname_join(&path, &ignored, "%s/%s", store->path, store->epoch);
    rc = rc < 0 ? rc : cs_store_pathname_join(&meta, &ignored, "%s/" CS_EPOCH_META, path.text);
    if (rc == 0 && facts && cs_store_fact_add(facts, "ended", ended) == 0)
        (void)cs_store_file_merge(meta.text, &(struct cs_store_profile_head){.event = "epoch"}, facts, NULL,
                                  &ignored);
    cs_table_close(facts);
    cs_store_unlock(lock);
    if (rc == 0)
        cs_catalog_keep(path.text);
}

int cs_store_count_all(struct cs_store *store, const struct cs_counter *counters, size_t n,
                       struct cs_error *err)
{
    struct cs_store_pathname path;
    int lock = lock_epoch(store, err);
    if (lock < 0)
        return lock;
    int rc = cs_store_pathname_join(&path, err, "%s/%s/" CS_EPOCH_COUNTERS, store->path, store->epoch);
    struct cs_table *table = cs_table_open(&cs_schema_counters);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        int64_t name = table ? cs_table_text(table, counters[i].name) : -ENOMEM;
        if (name < 0 || cs_table_add(table, (uint64_t[]){(uint64_t)name, counters[i].n}) < 0)
            rc = cs_fail(err, ENOMEM, "not enough memory to count %s", counters[i].name);
    }
    if (rc == 0 && n)
        rc = cs_store_file_merge(path.text, &(struct cs_store_profile_head){.event = "epoch"}, table,
                                 later(store), err);
    cs_table_close(table);
    cs_store_unlock(lock);
    return rc;
}

int cs_store_count(struct cs_store *store, const char *counter, uint64_t n, struct cs_error *err)
{
    return cs_store_count_all(store, &(struct cs_counter){counter, n}, 1, err);
}

/* A container host shows one executable under ever new paths: the first ones will do. */
#define PATHS_MAX 16

static bool has_enough_paths(const char *meta)
{
    struct cs_store_profile_file file;
    struct cs_table *facts = NULL;
    struct cs_error unused;
    unsigned n = 0;
    if (cs_store_file_load(meta, &file, &facts, &unused) == 0)
        for (size_t i = 0; i < cs_table_rows(facts); i++)
            n += strcmp(cs_table_string(facts, cs_table_row(facts, i)[0]), "path") == 0;
    cs_table_close(facts);
    return n >= PATHS_MAX;
}

/* Makes the image's directory and sees to it that image.meta knows what `image` says. Its path goes to
 * *path. */
static int prepare_image(struct cs_store *store, const struct cs_store_image *image,
                         struct cs_store_pathname *path, struct cs_error *err)
{
    char kind[16];
    struct cs_store_pathname meta;
    if (!cs_store_image_id_valid(image->id))
        return cs_fail(err, EINVAL, "\"%.*s\" can't be an image's id", CS_IMAGE_ID_MAX, image->id);
    int rc = cs_store_pathname_join(path, err, "%s/%s/%s", store->path, store->epoch, image->id);
    if (rc == 0)
        rc = cs_store_directory_make_later(path->text, later(store), err);
    if (rc == 0)
        rc = cs_store_pathname_join(&meta, err, "%s/" CS_IMAGE_META, path->text);
    if (rc < 0)
        return rc;
    struct cs_table *facts = cs_table_open(&cs_schema_facts);
    snprintf(kind, sizeof kind, "%u", (unsigned)image->kind);
    if (!facts || cs_store_fact_add(facts, "kind", kind) < 0 ||
        (image->path && image->path[0] && !has_enough_paths(meta.text) &&
         cs_store_fact_add(facts, "path", image->path) < 0) ||
        (image->build_id && image->build_id[0] && cs_store_fact_add(facts, "build-id", image->build_id) < 0))
        rc = cs_fail(err, ENOMEM, "not enough memory to note the image %s", image->id);
    else
        rc = cs_store_file_merge(meta.text, &(struct cs_store_profile_head){.event = "image"}, facts,
                                 later(store), err);
    cs_table_close(facts);
    return rc;
}

int cs_store_merge(struct cs_store *store, const struct cs_store_image *image,
                   const struct cs_store_profile_head *head, struct cs_table *table, struct cs_error *err)
{
    struct cs_store_pathname directory, path;
    char name[CS_PROFILE_NAME_MAX];
    if (!head->event[0])
        return cs_fail(err, EINVAL, "a profile needs the name of its event");
    int lock = lock_epoch(store, err);
    if (lock < 0)
        return lock;
    cs_store_profile_file_name(head->event, head->label, cs_table_schema(table)->kind, name);
    int rc = prepare_image(store, image, &directory, err);
    if (rc == 0)
        rc = cs_store_pathname_join(&path, err, "%s/%s", directory.text, name);
    if (rc == 0)
        rc = cs_store_file_merge(path.text, head, table, later(store), err);
    cs_store_unlock(lock);
    return rc;
}

bool cs_store_label_is(const char *label, const char *asked)
{
    size_t n = strlen(asked);
    return strcmp(label, asked) == 0 || (strncmp(label, asked, n) == 0 && strncmp(label + n, " (", 2) == 0);
}

int cs_store_merge_names(struct cs_store *store, const struct cs_store_image *image, struct cs_table *names,
                         struct cs_error *err)
{
    struct cs_store_pathname directory, path;
    int lock = lock_epoch(store, err);
    if (lock < 0)
        return lock;
    int rc = prepare_image(store, image, &directory, err);
    if (rc == 0)
        rc = cs_store_pathname_join(&path, err, "%s/" CS_IMAGE_NAMES, directory.text);
    if (rc == 0)
        rc = cs_store_file_merge(path.text, &(struct cs_store_profile_head){.event = "names"}, names,
                                 later(store), err);
    cs_store_unlock(lock);
    return rc;
}
