/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files, read and replaced atomically; locks; directory listings. For store/, and for the spool of
 * exports. Every function fills `err` and returns a negative errno when it fails. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/error.h"

/* A path, or -ENAMETOOLONG: "a/b", "a/b/c". */
#define CS_STORE_PATHNAME_MAX 4096
struct cs_store_pathname {
    char text[CS_STORE_PATHNAME_MAX];
};
int cs_store_pathname_join(struct cs_store_pathname *path, struct cs_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends the first `most` bytes of a file to `out`, or all of it; its size goes to *file_bytes. */
int cs_store_file_read(const char *path, uint64_t most, struct cs_bytes *out, uint64_t *file_bytes,
                       struct cs_error *err);

/* Replaces or creates `path`: temporary name beside it (the same one each time: the caller holds a lock, so a
 * left-over of a crash is overwritten), fsync, rename, fsync of the directory. Until it returns 0 the old
 * file is there, whole. */
int cs_store_file_replace(const char *path, const struct cs_bytes *bytes, struct cs_error *err);
#define CS_STORE_FILE_TEMPORARY ".tmp"

/* Makes one directory, durably; that it is there already is no failure (but see *made, may be NULL). */
int cs_store_directory_make(const char *path, bool *made, struct cs_error *err);

/* Directories whose newest entries are not durable yet: where many files go into few directories these are
 * synced once, at the end. A file's own bytes are synced before it is renamed all the same, so that a power
 * cut before the end leaves an older state, never damage. Zero-initialised = none. */
struct cs_store_unsynced {
    char **paths;
    size_t n, capacity;
};
/* As cs_store_file_replace and cs_store_directory_make, but the directory is noted in `later` (NULL: synced at once). */
int cs_store_file_replace_later(const char *path, const struct cs_bytes *bytes,
                                struct cs_store_unsynced *later, struct cs_error *err);
int cs_store_directory_make_later(const char *path, struct cs_store_unsynced *later, struct cs_error *err);
/* Syncs what was noted, and forgets it. */
void cs_store_unsynced_sync(struct cs_store_unsynced *later);

/* Takes the advisory lock of a directory, waiting for it; returns a descriptor that holds it until
 * cs_store_unlock. -ENOENT when the directory is gone. */
int cs_store_lock(const char *directory, struct cs_error *err);
void cs_store_unlock(int lock);
#define CS_STORE_LOCK_NAME "lock"

/* Names in a directory, sorted, without those that begin with a dot. -ENOENT, -ENOTDIR, ... */
struct cs_store_listing {
    char **names;
    size_t n, capacity;
};
int cs_store_directory_list(const char *path, struct cs_store_listing *listing, struct cs_error *err);
void cs_store_listing_fini(struct cs_store_listing *listing);
