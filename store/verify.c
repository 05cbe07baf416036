/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads every file of a store to its last byte. A temporary file that a crash left behind is no damage. */
#include "store/file.h"
#include "store/layout.h"
#include "store/merge_file.h"
#include "store/store.h"
#include "store/table/schema.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct verification {
    void (*bad)(const char *sentence, void *arg);
    void *arg;
    int n_bad;
};

static void report(struct verification *check, const char *sentence)
{
    check->n_bad++;
    check->bad(sentence, check->arg);
}

static void report_stranger(struct verification *check, const char *path)
{
    struct cs_error err;
    cs_fail(&err, EBADMSG, "%s doesn't belong in a store", path);
    report(check, err.text);
}

/* A file must read back and, where its name or place says what is in it, hold that. */
static void verify_file(struct verification *check, const char *path, const char *name,
                        const struct cs_schema *expected)
{
    struct cs_store_profile_file file;
    struct cs_table *table = NULL;
    struct cs_error err;
    char should_be[CS_PROFILE_NAME_MAX];
    int rc = cs_store_file_load(path, &file, &table, &err);
    if (rc == 0 && expected && !cs_schema_equal(expected, &file.schema))
        rc = cs_fail(&err, EBADMSG, "%s is damaged (it holds %s, not %s)", path, file.schema.kind,
                     expected->kind);
    if (rc == 0 && !expected) {
        cs_store_profile_file_name(file.head.event, file.head.label, file.schema.kind, should_be);
        if (strcmp(should_be, name) != 0)
            rc = cs_fail(&err, EBADMSG, "%s is damaged (what is in it belongs in %s)", path, should_be);
    }
    cs_table_close(table);
    if (rc < 0 && rc != -ENOENT) /* ENOENT: removed while we walk */
        report(check, err.text);
}

enum place { IN_STORE, IN_EPOCH, IN_IMAGE };

static const struct fixed_name {
    enum place place;
    const char *name;
    const struct cs_schema *schema; /* NULL: any bytes */
} fixed_names[] = {
    {IN_EPOCH, CS_EPOCH_META, &cs_schema_facts},  {IN_EPOCH, CS_EPOCH_COUNTERS, &cs_schema_counters},
    {IN_EPOCH, CS_STORE_LOCK_NAME, NULL},         {IN_IMAGE, CS_IMAGE_META, &cs_schema_facts},
    {IN_IMAGE, CS_IMAGE_NAMES, &cs_schema_names},
};

static const struct fixed_name *find_fixed(enum place place, const char *name)
{
    for (size_t i = 0; i < sizeof fixed_names / sizeof *fixed_names; i++)
        if (fixed_names[i].place == place && strcmp(fixed_names[i].name, name) == 0)
            return &fixed_names[i];
    return NULL;
}

static int verify_directory(struct verification *check, const char *path, enum place place,
                            struct cs_error *err)
{
    struct cs_store_listing listing;
    int rc = cs_store_directory_list(path, &listing, err);
    if (rc < 0)
        return rc == -ENOENT && place != IN_STORE ? 0 : rc;
    for (size_t i = 0; rc == 0 && i < listing.n; i++) {
        const char *name = listing.names[i];
        struct cs_store_pathname below;
        struct stat st;
        rc = cs_store_pathname_join(&below, err, "%s/%s", path, name);
        if (rc < 0 || cs_store_name_ends(name, CS_STORE_FILE_TEMPORARY))
            continue;
        if (stat(below.text, &st) < 0) {
            if (errno != ENOENT)
                rc = cs_fail(err, errno, "can't look at %s: %s", below.text, strerror(errno));
            continue;
        }
        const struct fixed_name *fixed = find_fixed(place, name);
        if (S_ISDIR(st.st_mode) && place != IN_IMAGE)
            rc = verify_directory(check, below.text, place + 1, err);
        else if (fixed && fixed->schema)
            verify_file(check, below.text, name, fixed->schema);
        else if (place == IN_IMAGE && cs_store_name_ends(name, CS_PROFILE_SUFFIX))
            verify_file(check, below.text, name, NULL);
        else if (!fixed && place != IN_STORE)
            report_stranger(check, below.text);
    }
    if (place == IN_IMAGE && rc == 0 && listing.n) {
        struct cs_store_pathname meta;
        struct stat st;
        bool profiles = false;
        for (size_t i = 0; i < listing.n; i++)
            profiles = profiles || cs_store_name_ends(listing.names[i], CS_PROFILE_SUFFIX);
        rc = cs_store_pathname_join(&meta, err, "%s/" CS_IMAGE_META, path);
        if (rc == 0 && profiles && stat(meta.text, &st) < 0 && errno == ENOENT && stat(path, &st) == 0) {
            struct cs_error missing;
            cs_fail(&missing, EBADMSG,
                    "%s is missing: nobody knows which image the profiles next to it belong to", meta.text);
            report(check, missing.text);
        }
    }
    cs_store_listing_fini(&listing);
    return rc;
}

int cs_store_verify(const char *path, void (*bad)(const char *sentence, void *arg), void *arg,
                    struct cs_error *err)
{
    struct verification check = {bad, arg, 0};
    int rc = verify_directory(&check, path, IN_STORE, err);
    return rc < 0 ? rc : check.n_bad;
}
