/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/kept_code.h"

#include "store/base/array.h"
#include "store/base/order.h"
#include "store/base/regular_file.h"
#include "store/file.h"
#include "store/layout.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define FOLDER ".images"
#define SUFFIX ".zst"
#define PART ((size_t)1 << 20)
#define LEVEL 1 /* 30 MB of code in 0.1 s, to a third; higher levels save little of code */

static int path_of(struct cs_store_pathname *path, const char *store, const char *image_id,
                   struct cs_error *err)
{
    if (!cs_store_image_id_valid(image_id))
        return cs_fail(err, EINVAL, "%.60s can't be an image's id", image_id);
    return cs_store_pathname_join(path, err, "%s/" FOLDER "/%s" SUFFIX, store, image_id);
}

struct copy {
    char name[CS_IMAGE_ID_MAX + sizeof SUFFIX];
    struct timespec written;
    uint64_t bytes;
};

CS_ORDER(oldest_first, struct copy, cs_order(a->written.tv_sec, b->written.tv_sec),
         cs_order(a->written.tv_nsec, b->written.tv_nsec))

/* Makes space for `more` bytes; these may stand in the folder already, in a file of that name. */
static void make_room(const char *store, uint64_t more, const char *of, uint64_t most)
{
    CS_ARRAY(struct copy) copies = {0};
    struct cs_store_pathname folder;
    struct cs_error ignored = {0};
    uint64_t sum = more;
    DIR *dir =
        cs_store_pathname_join(&folder, &ignored, "%s/" FOLDER, store) == 0 ? opendir(folder.text) : NULL;
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        struct stat st;
        if (e->d_name[0] == '.' || strcmp(e->d_name, of) == 0 ||
            strlen(e->d_name) >= sizeof copies.at->name ||
            fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
            continue;
        struct copy *c = cs_array_add(&copies);
        if (!c)
            break;
        memcpy(c->name, e->d_name, strlen(e->d_name) + 1);
        c->written = st.st_mtim;
        c->bytes = (uint64_t)st.st_size;
        sum += c->bytes;
    }
    cs_sort(copies.at, copies.n, oldest_first);
    for (size_t i = 0; i < copies.n && sum > most; i++)
        if (unlinkat(dirfd(dir), copies.at[i].name, 0) == 0)
            sum -= copies.at[i].bytes;
    if (dir)
        closedir(dir);
    cs_array_free(&copies);
}

static int open_temporary(const char *path, char *tmp, size_t capacity)
{
    snprintf(tmp, capacity, "%s.%d" CS_STORE_FILE_TEMPORARY, path, (int)getpid());
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd < 0 ? -errno : fd;
}

static int write_all(int fd, const void *bytes, size_t n)
{
    size_t done = 0;
    for (ssize_t got = 1; done < n && got > 0; done += got > 0 ? (size_t)got : 0)
        got = write(fd, (const char *)bytes + done, n - done);
    return done < n ? -(errno ? errno : EIO) : 0;
}

/* n bytes of a file, packed into another; a part at a time: a daemon's memory is bounded. -EFBIG: it would be more than `most`. */
static int pack(int from, size_t n, int to, uint64_t most, uint64_t *packed)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    char *in = malloc(PART), *out = malloc(PART);
    int rc = context && in && out ? 0 : -ENOMEM;
    if (rc == 0 && (ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL)) ||
                    ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(context, n))))
        rc = -EINVAL;
    for (size_t done = 0; rc == 0 && done < n;) {
        ssize_t got = pread(from, in, n - done < PART ? n - done : PART, (off_t)done);
        if (got <= 0) {
            rc = got < 0 ? -errno : -EIO; /* cut short meanwhile */
            break;
        }
        done += (size_t)got;
        ZSTD_inBuffer input = {in, (size_t)got, 0};
        for (size_t left = 1; rc == 0 && (done == n ? left > 0 : input.pos < input.size);) {
            ZSTD_outBuffer output = {out, PART, 0};
            left = ZSTD_compressStream2(context, &output, &input, done == n ? ZSTD_e_end : ZSTD_e_continue);
            *packed += output.pos;
            rc = ZSTD_isError(left) ? -EIO : *packed > most ? -EFBIG : write_all(to, out, output.pos);
        }
    }
    free(in);
    free(out);
    ZSTD_freeCCtx(context);
    return rc;
}

static int write_whole(const char *path, const void *bytes, size_t n, struct cs_error *err)
{
    char tmp[CS_STORE_PATHNAME_MAX + 32];
    int fd = open_temporary(path, tmp, sizeof tmp);
    if (fd < 0)
        return cs_fail(err, -fd, "can't write %s: %s", tmp, strerror(-fd));
    int saved = -write_all(fd, bytes, n);
    if (close(fd) < 0 && !saved)
        saved = errno;
    if (!saved && rename(tmp, path) < 0)
        saved = errno;
    if (saved)
        unlink(tmp);
    return saved ? cs_fail(err, saved, "can't write %s: %s", path, strerror(saved)) : 0;
}

/* A copy of the file in memory of ours: one that is mapped may be truncated under us. */
static char *contents_of(int fd, size_t n)
{
    char *bytes = malloc(n);
    size_t done = 0;
    for (ssize_t got = 1; bytes && done < n && got > 0; done += got > 0 ? (size_t)got : 0)
        got = pread(fd, bytes + done, n - done, (off_t)done);
    if (bytes && done < n) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

static int save(const char *store, const char *image_id, int fd, bool replace, uint64_t store_max,
                struct cs_error *err)
{
    struct cs_store_pathname path, folder;
    struct stat st;
    int rc = path_of(&path, store, image_id, err);
    if (rc == 0)
        rc = cs_store_pathname_join(&folder, err, "%s/" FOLDER, store);
    if (rc < 0)
        return rc;
    if ((!replace && access(path.text, F_OK) == 0) || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        st.st_size == 0 || (uint64_t)st.st_size > CS_KEPT_CODE_FILE_MAX)
        return 0;
    if ((rc = cs_store_directory_make(folder.text, NULL, err)) < 0)
        return rc;
    char tmp[CS_STORE_PATHNAME_MAX + 32];
    int to = open_temporary(path.text, tmp, sizeof tmp);
    if (to < 0)
        return cs_fail(err, -to, "can't write %s: %s", tmp, strerror(-to));
    uint64_t packed = 0;
    rc = pack(fd, (size_t)st.st_size, to, store_max, &packed);
    if (close(to) < 0 && rc == 0)
        rc = -errno;
    if (rc == 0) {
        make_room(store, packed, strrchr(tmp, '/') + 1, store_max);
        rc = rename(tmp, path.text) < 0 ? -errno : 1;
    }
    if (rc < 0)
        unlink(tmp);
    return rc == -EFBIG ? 0 : rc < 0 ? cs_fail(err, -rc, "can't write %s: %s", path.text, strerror(-rc)) : rc;
}

int cs_kept_code_save(const char *store, const char *image_id, int fd, uint64_t store_max,
                      struct cs_error *err)
{
    assert(fd >= 0);
    return save(store, image_id, fd, false, store_max, err);
}

int cs_kept_code_put(const char *store, const char *image_id, const void *bytes, size_t n, uint64_t store_max,
                     struct cs_error *err)
{
    int fd = memfd_create("code", MFD_CLOEXEC);
    if (fd < 0)
        return cs_fail(err, errno, "no memory for the code of %s: %s", image_id, strerror(errno));
    int rc = write_all(fd, bytes, n);
    rc = rc < 0 ? cs_fail(err, -rc, "no memory for the code of %s: %s", image_id, strerror(-rc))
                : save(store, image_id, fd, true, store_max, err);
    close(fd);
    return rc;
}

int cs_kept_code_load(const char *store, const char *image_id, char **bytes, size_t *n, struct cs_error *err)
{
    struct cs_store_pathname path;
    struct stat st;
    int rc = path_of(&path, store, image_id, err);
    if (rc < 0)
        return rc;
    int fd = cs_open_regular(NULL, path.text, CS_KEPT_CODE_FILE_MAX, &st);
    if (fd < 0)
        return cs_fail(err, -fd, "%s: %s", path.text, strerror(-fd));
    char *packed = st.st_size ? contents_of(fd, (size_t)st.st_size) : NULL;
    close(fd);
    unsigned long long size = packed ? ZSTD_getFrameContentSize(packed, (size_t)st.st_size) : 0;
    bool whole = size && size <= CS_KEPT_CODE_FILE_MAX && (*bytes = malloc((size_t)size)) != NULL;
    if (whole && ZSTD_decompress(*bytes, (size_t)size, packed, (size_t)st.st_size) != size) {
        free(*bytes);
        whole = false;
    }
    free(packed);
    if (!whole)
        return cs_fail(err, EBADMSG, "%s is damaged; it may be removed", path.text);
    *n = (size_t)size;
    return 0;
}

static bool is_profiled(const char *store, const struct cs_store_listing *epochs, const char *id)
{
    struct cs_error ignored = {0};
    struct cs_store_pathname path;
    for (size_t i = 0; i < epochs->n; i++)
        if (cs_store_pathname_join(&path, &ignored, "%s/%s/%s", store, epochs->names[i], id) == 0 &&
            access(path.text, F_OK) == 0)
            return true;
    return false;
}

void cs_kept_code_sweep(const char *store)
{
    struct cs_store_listing epochs = {0}, copies = {0};
    struct cs_store_pathname folder, path;
    struct cs_error ignored = {0};
    if (cs_store_pathname_join(&folder, &ignored, "%s/" FOLDER, store) == 0 &&
        cs_store_directory_list(folder.text, &copies, &ignored) == 0 &&
        cs_store_directory_list(store, &epochs, &ignored) == 0)
        for (size_t i = 0; i < copies.n; i++) {
            char id[CS_IMAGE_ID_MAX];
            size_t n = strlen(copies.names[i]);
            if (!cs_store_name_ends(copies.names[i], SUFFIX) || n - strlen(SUFFIX) >= sizeof id)
                continue;
            snprintf(id, sizeof id, "%.*s", (int)(n - strlen(SUFFIX)), copies.names[i]);
            if (!is_profiled(store, &epochs, id) && path_of(&path, store, id, &ignored) == 0)
                unlink(path.text);
        }
    cs_store_listing_fini(&copies);
    cs_store_listing_fini(&epochs);
}

static int copy_one(int from, const char *store, const struct cs_store_pathname *to, uint64_t store_max,
                    struct cs_error *err)
{
    struct stat st;
    if (fstat(from, &st) < 0 || st.st_size == 0 || (uint64_t)st.st_size > store_max)
        return 0;
    char *packed = contents_of(from, (size_t)st.st_size);
    if (!packed)
        return 0; /* cut off meanwhile */
    make_room(store, (uint64_t)st.st_size, "", store_max);
    int rc = write_whole(to->text, packed, (size_t)st.st_size, err);
    free(packed);
    return rc;
}

int cs_kept_code_combine(const char *to_store, const char *from_store, uint64_t store_max,
                         struct cs_error *err)
{
    struct cs_store_listing copies = {0};
    struct cs_store_pathname folder, path;
    struct stat st;
    int rc = cs_store_pathname_join(&folder, err, "%s/" FOLDER, from_store);
    if (rc < 0 || lstat(folder.text, &st) < 0 || !S_ISDIR(st.st_mode))
        return rc;
    rc = cs_store_directory_list(folder.text, &copies, err);
    if (rc == 0 && copies.n)
        rc = cs_store_pathname_join(&folder, err, "%s/" FOLDER, to_store);
    if (rc == 0 && copies.n)
        rc = cs_store_directory_make(folder.text, NULL, err);
    for (size_t i = 0; i < copies.n && rc == 0; i++) {
        char id[CS_IMAGE_ID_MAX];
        struct cs_error ignored = {0};
        size_t n = strlen(copies.names[i]);
        if (!cs_store_name_ends(copies.names[i], SUFFIX) || n - strlen(SUFFIX) >= sizeof id)
            continue;
        snprintf(id, sizeof id, "%.*s", (int)(n - strlen(SUFFIX)), copies.names[i]);
        if (path_of(&path, from_store, id, &ignored) < 0)
            continue;
        int fd = cs_open_regular(NULL, path.text, CS_KEPT_CODE_FILE_MAX, NULL);
        if (fd < 0)
            continue;
        rc = path_of(&path, to_store, id, err);
        if (rc == 0 && access(path.text, F_OK) < 0)
            rc = copy_one(fd, to_store, &path, store_max, err);
        close(fd);
    }
    cs_store_listing_fini(&copies);
    return rc;
}
