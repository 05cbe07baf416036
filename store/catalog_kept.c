/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/catalog_kept.h"

#include "store/layout.h"
#include "store/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define KEPT "/.catalog"
#define MAGIC "CSCT\1"
#define HELD_MAX 4096             /* bytes of a file that is held whole: a block of the file system */
#define KEPT_BYTES_MAX (64 << 20) /* a larger one is none of ours: some 20,000 images */

static uint64_t changed_ns(const struct stat *st)
{
    return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

/* All of a small file, else what its head may take. That there is none is no error. */
static int put_file(struct cs_bytes *out, const char *folder, const char *name, struct cs_error *err)
{
    struct cs_store_pathname path;
    struct cs_bytes bytes = {0};
    uint64_t n_bytes = 0;
    int rc = cs_store_pathname_join(&path, err, "%s/%s", folder, name);
    if (rc == 0)
        rc = cs_store_file_read(path.text, HELD_MAX, &bytes, &n_bytes, err);
    bool is_gone = rc == -ENOENT;
    size_t n_held = n_bytes <= HELD_MAX ? bytes.used : CS_PROFILE_HEAD_MAX;
    cs_bytes_put_varint(out, is_gone ? 1 : n_bytes);
    cs_bytes_put_varint(out, n_held);
    cs_bytes_put_raw(out, bytes.start, n_held);
    cs_bytes_fini(&bytes);
    return is_gone ? 0 : rc;
}

/* A file that is gone meanwhile has no bytes: the reader passes over it. */
static int put_folder(struct cs_bytes *out, const char *path, const char *id, uint64_t changed,
                      struct cs_error *err)
{
    struct cs_store_listing listing;
    int rc = cs_store_directory_list(path, &listing, err);
    if (rc < 0)
        return rc == -ENOENT ? 0 : rc;
    size_t at = out->used, n_profiles = 0;
    bool has_names = false, has_meta = false;
    for (size_t i = 0; i < listing.n; i++) {
        n_profiles += cs_store_name_ends(listing.names[i], CS_PROFILE_SUFFIX);
        has_names |= strcmp(listing.names[i], CS_IMAGE_NAMES) == 0;
        has_meta |= strcmp(listing.names[i], CS_IMAGE_META) == 0;
    }
    if (n_profiles || has_meta || has_names) { /* else it is a stranger's */
        cs_bytes_put_u32(out, 0);
        cs_bytes_put_text(out, id);
        cs_bytes_put_u64(out, changed);
        cs_bytes_put_u8(out, has_names);
        rc = put_file(out, path, CS_IMAGE_META, err);
        cs_bytes_put_varint(out, n_profiles);
        for (size_t i = 0; rc == 0 && i < listing.n; i++)
            if (cs_store_name_ends(listing.names[i], CS_PROFILE_SUFFIX)) {
                cs_bytes_put_text(out, listing.names[i]);
                rc = put_file(out, path, listing.names[i], err);
            }
        size_t n = out->used - at - 4;
        if (rc == 0 && (out->failed || n > UINT32_MAX))
            rc = cs_fail(err, ENOMEM, "not enough memory to read %s", path);
        for (unsigned i = 0; rc == 0 && i < 4; i++)
            out->start[at + i] = (uint8_t)(n >> 8 * i);
    }
    cs_store_listing_fini(&listing);
    return rc;
}

static struct cs_catalog_file take_file(struct cs_bytes_cursor *cursor)
{
    struct cs_catalog_file file = {.n_bytes = cs_bytes_take_varint(cursor)};
    file.n_held = cs_bytes_take_varint(cursor);
    cursor->bad |= file.n_held > file.n_bytes;
    const uint8_t *bytes = cs_bytes_take_raw(cursor, file.n_held);
    file.bytes = file.n_held || !file.n_bytes ? bytes : NULL;
    return file;
}

bool cs_catalog_take_profile(struct cs_bytes_cursor *cursor, char name[256], struct cs_catalog_file *file)
{
    cs_bytes_take_text(cursor, name, 256);
    *file = take_file(cursor);
    cursor->bad |= !cursor->bad && (strchr(name, '/') || !cs_store_name_ends(name, CS_PROFILE_SUFFIX));
    return !cursor->bad;
}

bool cs_catalog_take_folder(struct cs_bytes_cursor *cursor, struct cs_catalog_folder *folder)
{
    if (cursor->bad || cursor->at == cursor->end)
        return false;
    uint64_t n = 0;
    const uint8_t *size = cs_bytes_take_raw(cursor, 4);
    for (unsigned i = 0; size && i < 4; i++)
        n |= (uint64_t)size[i] << 8 * i;
    const uint8_t *bytes = cs_bytes_take_raw(cursor, n);
    struct cs_bytes_cursor in = {bytes, bytes ? bytes + n : NULL, !bytes};
    *folder = (struct cs_catalog_folder){.n_profiles = 0};
    cs_bytes_take_text(&in, folder->id, sizeof folder->id);
    folder->changed_ns = cs_bytes_take_u64(&in);
    folder->has_names = cs_bytes_take_u8(&in);
    folder->meta = take_file(&in);
    folder->n_profiles = cs_bytes_take_varint(&in);
    in.bad |= folder->n_profiles > n; /* each takes a byte at least */
    folder->profiles = in;
    cursor->bad |= in.bad;
    return !cursor->bad;
}

static bool load_kept(const char *epoch, struct cs_bytes *kept, struct cs_bytes_cursor *folders)
{
    struct cs_store_pathname path;
    struct cs_error ignored;
    uint64_t n_bytes;
    const size_t head = strlen(MAGIC) + 8;
    if (cs_store_pathname_join(&path, &ignored, "%s" KEPT, epoch) < 0 ||
        cs_store_file_read(path.text, KEPT_BYTES_MAX, kept, &n_bytes, &ignored) < 0 ||
        n_bytes != kept->used || kept->used < head || memcmp(kept->start, MAGIC, head - 8) != 0)
        return false;
    struct cs_bytes_cursor cursor = {kept->start + head - 8, kept->start + kept->used, false};
    uint64_t sum = cs_bytes_take_u64(&cursor);
    *folders = cursor;
    return sum == XXH64(kept->start + head, kept->used - head, 0);
}

/* The folder as it is kept, where it is and hasn't changed since. Both ascend by name. */
static bool put_kept(struct cs_bytes *out, struct cs_bytes_cursor *kept, const char *id, uint64_t changed)
{
    struct cs_bytes_cursor next = *kept;
    struct cs_catalog_folder folder;
    while (cs_catalog_take_folder(&next, &folder) && strcmp(folder.id, id) < 0)
        *kept = next;
    if (next.bad || next.at == kept->at || strcmp(folder.id, id) != 0 || folder.changed_ns != changed)
        return false;
    cs_bytes_put_raw(out, kept->at, (size_t)(next.at - kept->at));
    *kept = next;
    return true;
}

int cs_catalog_gather(const char *path, struct cs_bytes *out, struct cs_error *err)
{
    struct cs_store_listing listing;
    struct cs_bytes bytes = {0};
    struct cs_bytes_cursor kept = {0};
    int rc = cs_store_directory_list(path, &listing, err);
    if (rc < 0)
        return rc == -ENOENT || rc == -ENOTDIR ? 0 : rc;
    /* Relative look-ups: without it stat walks the whole path for each image. */
    int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        rc = errno == ENOENT ? 0 : cs_fail(err, errno, "can't open %s: %s", path, strerror(errno));
    if (!load_kept(path, &bytes, &kept))
        kept = (struct cs_bytes_cursor){0};
    for (size_t i = 0; directory >= 0 && rc == 0 && i < listing.n; i++) {
        struct cs_store_pathname folder;
        struct stat st;
        /* Its time before its contents: a change in between is seen next time. */
        if (fstatat(directory, listing.names[i], &st, 0) < 0) {
            if (errno != ENOENT)
                rc = cs_fail(err, errno, "can't look at %s/%s: %s", path, listing.names[i], strerror(errno));
        } else if (S_ISDIR(st.st_mode) && !put_kept(out, &kept, listing.names[i], changed_ns(&st))) {
            rc = cs_store_pathname_join(&folder, err, "%s/%s", path, listing.names[i]);
            rc = rc < 0 ? rc : put_folder(out, folder.text, listing.names[i], changed_ns(&st), err);
        }
    }
    if (directory >= 0)
        close(directory);
    if (rc == 0 && out->failed)
        rc = cs_fail(err, ENOMEM, "not enough memory to read %s", path);
    cs_bytes_fini(&bytes);
    cs_store_listing_fini(&listing);
    return rc;
}

void cs_catalog_keep(const char *path)
{
    struct cs_store_pathname file;
    struct cs_error ignored;
    struct cs_bytes folders = {0}, all = {0};
    int lock = cs_store_lock(path, &ignored);
    if (lock >= 0 && cs_store_pathname_join(&file, &ignored, "%s" KEPT, path) == 0 &&
        cs_catalog_gather(path, &folders, &ignored) == 0) {
        cs_bytes_put_raw(&all, MAGIC, strlen(MAGIC));
        cs_bytes_put_u64(&all, XXH64(folders.start, folders.used, 0));
        cs_bytes_put_raw(&all, folders.start, folders.used);
        if (!all.failed && all.used <= KEPT_BYTES_MAX)
            (void)cs_store_file_replace(file.text, &all, &ignored);
    }
    cs_bytes_fini(&folders);
    cs_bytes_fini(&all);
    cs_store_unlock(lock);
}

void cs_catalog_drop(const char *path)
{
    struct cs_store_pathname file;
    struct cs_error ignored;
    if (cs_store_pathname_join(&file, &ignored, "%s" KEPT, path) == 0)
        unlink(file.text);
}
