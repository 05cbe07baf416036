/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/file.h"
#include "store/base/array.h"
#include "store/base/order.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int cs_store_pathname_join(struct cs_store_pathname *path, struct cs_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(path->text, sizeof path->text, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof path->text - sizeof CS_STORE_FILE_TEMPORARY)
        return cs_fail(err, ENAMETOOLONG, "the path %.80s... is too long; choose a store with a shorter one",
                       path->text);
    return 0;
}

static int failed_to(struct cs_error *err, const char *what, const char *path, int code)
{
    const char *hint = "";
    if (code == ENOSPC || code == EDQUOT)
        hint = "; free some space or run cyclescope store gc";
    else if (code == EACCES || code == EROFS || code == EPERM)
        hint = "; choose a store that you may write, or change its owner";
    return cs_fail(err, code, "can't %s %s: %s%s", what, path, strerror(code), hint);
}

int cs_store_file_read(const char *path, uint64_t most, struct cs_bytes *out, uint64_t *file_bytes,
                       struct cs_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc = 0;
    if (fd < 0)
        return failed_to(err, "open", path, errno);
    struct stat st;
    if (fstat(fd, &st) < 0) {
        rc = failed_to(err, "read", path, errno);
        goto out;
    }
    if (!S_ISREG(st.st_mode)) {
        rc = cs_fail(err, EBADMSG, "%s is not a regular file; it doesn't belong in a store", path);
        goto out;
    }
    *file_bytes = (uint64_t)st.st_size;
    size_t n = *file_bytes < most ? (size_t)*file_bytes : (size_t)most, have = 0;
    uint8_t *room = cs_bytes_put_room(out, n);
    if (!room) {
        rc = cs_fail(err, ENOMEM, "not enough memory to read %s", path);
        goto out;
    }
    while (have < n) {
        ssize_t got = read(fd, room + have, n - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            rc = failed_to(err, "read", path, got < 0 ? errno : EIO);
            goto out;
        }
        have += (size_t)got;
    }
out:
    close(fd);
    return rc;
}

static int write_whole(int fd, const struct cs_bytes *bytes)
{
    for (size_t done = 0; done < bytes->used;) {
        ssize_t n = write(fd, bytes->start + done, bytes->used - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        done += (size_t)n;
    }
    return fsync(fd) < 0 ? -errno : 0;
}

static void directory_of(const char *path, struct cs_store_pathname *directory)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (n) {
        memcpy(directory->text, path, n);
        directory->text[n] = '\0';
    } else {
        strcpy(directory->text, slash ? "/" : ".");
    }
}

/* Some file systems can't and say EINVAL: that is all they offer. */
static int sync_directory(const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
    close(fd);
    return rc;
}

/* Notes a directory; without memory for that it is synced now. */
static int sync_later(struct cs_store_unsynced *later, const char *directory)
{
    for (size_t i = 0; i < later->n; i++)
        if (strcmp(later->paths[i], directory) == 0)
            return 0;
    char *copy = cs_array_room(later->paths, later->n, later->capacity) == 0 ? strdup(directory) : NULL;
    if (!copy)
        return sync_directory(directory);
    later->paths[later->n++] = copy;
    return 0;
}

/* fsync of the directory that `path` stands in: now, or noted. */
static int sync_directory_of(const char *path, struct cs_store_unsynced *later)
{
    struct cs_store_pathname directory;
    directory_of(path, &directory);
    return later ? sync_later(later, directory.text) : sync_directory(directory.text);
}

void cs_store_unsynced_sync(struct cs_store_unsynced *later)
{
    for (size_t i = 0; i < later->n; i++) {
        (void)sync_directory(later->paths[i]); /* see cs_store_file_replace_later */
        free(later->paths[i]);
    }
    free(later->paths);
    *later = (struct cs_store_unsynced){0};
}

int cs_store_file_replace(const char *path, const struct cs_bytes *bytes, struct cs_error *err)
{
    return cs_store_file_replace_later(path, bytes, NULL, err);
}

int cs_store_file_replace_later(const char *path, const struct cs_bytes *bytes,
                                struct cs_store_unsynced *later, struct cs_error *err)
{
    assert(path[0] && !bytes->failed /* half of it would replace the whole */);
    struct cs_store_pathname temporary;
    int rc = cs_store_pathname_join(&temporary, err, "%s" CS_STORE_FILE_TEMPORARY, path);
    if (rc < 0)
        return rc;
    int fd = open(temporary.text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return failed_to(err, "write", temporary.text, errno);
    rc = write_whole(fd, bytes);
    if (close(fd) < 0 && rc == 0)
        rc = -errno;
    if (rc == 0 && rename(temporary.text, path) < 0)
        rc = -errno;
    if (rc < 0) {
        unlink(temporary.text);
        return failed_to(err, "write", path, -rc);
    }
    /* The new file is in its place. Were a failure here passed on, the caller would merge the same counts
     * again: better to be unsure of the power cut of the next seconds than to count twice. */
    (void)sync_directory_of(path, later);
    return 0;
}

static int make_directory(const char *path, bool *made, struct cs_store_unsynced *later, struct cs_error *err)
{
    bool is_new = mkdir(path, 0700) == 0;
    if (made)
        *made = is_new;
    if (!is_new && errno == EEXIST)
        return 0;
    if (!is_new)
        return failed_to(err, "make the directory", path, errno);
    int rc = sync_directory_of(path, later);
    return rc < 0 ? failed_to(err, "make durable", path, -rc) : 0;
}

int cs_store_directory_make(const char *path, bool *made, struct cs_error *err)
{
    return make_directory(path, made, NULL, err);
}

int cs_store_directory_make_later(const char *path, struct cs_store_unsynced *later, struct cs_error *err)
{
    return make_directory(path, NULL, later, err);
}

int cs_store_lock(const char *directory, struct cs_error *err)
{
    struct cs_store_pathname path;
    int rc = cs_store_pathname_join(&path, err, "%s/" CS_STORE_LOCK_NAME, directory);
    if (rc < 0)
        return rc;
    for (;;) {
        int fd = open(path.text, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return failed_to(err, "lock", directory, errno);
        while (flock(fd, LOCK_EX) < 0)
            if (errno != EINTR) {
                rc = failed_to(err, "lock", directory, errno);
                close(fd);
                return rc;
            }
        /* Whoever held it may have removed the directory (gc): then this lock guards nothing. */
        struct stat ours, there;
        if (fstat(fd, &ours) == 0 && stat(path.text, &there) == 0 && ours.st_ino == there.st_ino &&
            ours.st_dev == there.st_dev)
            return fd;
        close(fd);
    }
}

void cs_store_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}

CS_ORDER(by_name, char *, strcmp(*a, *b))

int cs_store_directory_list(const char *path, struct cs_store_listing *listing, struct cs_error *err)
{
    *listing = (struct cs_store_listing){0};
    DIR *directory = opendir(path);
    if (!directory)
        return failed_to(err, "read the directory", path, errno);
    int rc = 0;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(directory);
        if (!entry) {
            if (errno)
                rc = failed_to(err, "read the directory", path, errno);
            break;
        }
        if (entry->d_name[0] == '.')
            continue;
        if (cs_array_room(listing->names, listing->n, listing->capacity) < 0 ||
            !(listing->names[listing->n] = strdup(entry->d_name))) {
            rc = cs_fail(err, ENOMEM, "not enough memory to list %s", path);
            break;
        }
        listing->n++;
    }
    closedir(directory);
    if (rc < 0)
        cs_store_listing_fini(listing);
    else if (listing->n)
        cs_sort(listing->names, listing->n, by_name);
    return rc;
}

void cs_store_listing_fini(struct cs_store_listing *listing)
{
    for (size_t i = 0; i < listing->n; i++)
        free(listing->names[i]);
    free(listing->names);
    *listing = (struct cs_store_listing){0};
}
