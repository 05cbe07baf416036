/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images by build-id or file. The file behind a mapping is opened through the process (its mount namespace,
 * deleted files too) and believed only if build-id or inode are those that the kernel told: a file that
 * replaced it under the same name is another image. */
#include "sampler/images/images.h"
#include "store/base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define BUCKETS 4096
#define VDSO_BYTES_MAX (1UL << 20)
#define FILE_BYTES_MAX (1ULL << 40)
#define KEPT_BYTES_MAX (8UL << 20) /* some 10,000 images */

struct alias { /* one image may be met under several keys */
    struct alias *next;
    struct cs_mapped_image *image;
    char key[];
};

struct cs_images {
    const char *proc;
    struct alias *buckets[BUCKETS];
    struct cs_mapped_image **all;
    unsigned n, capacity;
    size_t bytes;                     /* of images and keys */
    uint64_t cut;                     /* mappings of files that were one too many */
    struct cs_mapped_image *too_many; /* stands for them */
    unsigned keep;                    /* so many more files may stay open */
};

static struct alias **bucket_of(struct cs_images *images, const char *key)
{
    return &images->buckets[XXH3_64bits(key, strlen(key)) % BUCKETS];
}

static struct cs_mapped_image *find(struct cs_images *images, const char *key)
{
    for (struct alias *a = *bucket_of(images, key); a; a = a->next)
        if (strcmp(a->key, key) == 0)
            return a->image;
    return NULL;
}

static struct cs_mapped_image *remember(struct cs_images *images, const char *key,
                                        struct cs_mapped_image *image)
{
    size_t size = strlen(key) + 1;
    struct alias **bucket = bucket_of(images, key), *a = malloc(sizeof *a + size);
    if (!a || !image) {
        free(a);
        return NULL;
    }
    memcpy(a->key, key, size);
    images->bytes += sizeof *a + size;
    a->image = image;
    a->next = *bucket;
    *bucket = a;
    return image;
}

static void free_image(struct cs_mapped_image *image)
{
    if (!image)
        return;
    if (image->fd >= 0)
        close(image->fd);
    free((char *)image->image.path);
    free((char *)image->image.build_id);
    free(image);
}

static struct cs_mapped_image *add(struct cs_images *images, const char *key, enum cs_store_image_kind kind,
                                   const char *id, const char *path, const char *build_id)
{
    struct cs_mapped_image *image = calloc(1, sizeof *image);
    if (!image)
        return NULL;
    image->fd = -1;
    image->image.kind = kind;
    image->image.path = strdup(path);
    image->image.build_id = strdup(build_id);
    snprintf(image->image.id, sizeof image->image.id, "%s", id);
    image->placeable = true;
    if (images->n == images->capacity) {
        unsigned capacity = images->capacity ? 2 * images->capacity : 64;
        struct cs_mapped_image **more = realloc(images->all, capacity * sizeof *more);
        if (!more)
            goto out;
        images->all = more;
        images->capacity = capacity;
    }
    if (!image->image.path || !image->image.build_id || !remember(images, key, image))
        goto out;
    images->bytes += sizeof *image + strlen(path) + strlen(build_id);
    image->index = images->n;
    images->all[images->n++] = image;
    return image;
out:
    free_image(image);
    return NULL;
}

/* "x" and 16 hex digits of a hash of the text. */
static void id_of_text(char id[CS_IMAGE_ID_MAX], const char *text)
{
    snprintf(id, CS_IMAGE_ID_MAX, "x%016llx", (unsigned long long)XXH3_64bits(text, strlen(text)));
}

/* ---- the file behind a mapping ---- */

static bool same_file(int fd, const struct cs_mapped_file *file)
{
    struct stat st;
    return file->inode != 0 && fstat(fd, &st) == 0 && st.st_ino == file->inode &&
           major(st.st_dev) == file->major && minor(st.st_dev) == file->minor;
}

int cs_images_open_mapped(const char *proc, const struct cs_mapped_file *file,
                          struct cs_image_segments *layout)
{
    char root[300], through[300];
    snprintf(root, sizeof root, "%s/%d/root", proc, (int)file->pid);
    snprintf(through, sizeof through, "%s/%d/map_files/%llx-%llx", proc, (int)file->pid,
             (unsigned long long)file->start, (unsigned long long)file->end);
    /* Paths first: the link through map_files is exact, but walks the process's maps. */
    for (int i = 0; i < 3; i++) {
        int fd = cs_open_regular(i == 0 ? root : NULL, i == 1 ? through : file->path, FILE_BYTES_MAX, NULL);
        if (fd < 0)
            continue;
        if (cs_image_segments_of_file(layout, fd) == 0) {
            bool told = file->build_id[0] != '\0';
            if (told ? strcmp(layout->build_id, file->build_id) == 0 : i == 1 || same_file(fd, file))
                return fd;
        }
        close(fd);
    }
    return -1;
}

int cs_images_reopen(const struct cs_images *images, const struct cs_mapped_image *image, pid_t pid,
                     uint64_t start, uint64_t end)
{
    struct cs_image_segments layout;
    struct cs_mapped_file file = {.pid = pid,
                                  .start = start,
                                  .end = end,
                                  .path = image->image.path,
                                  .build_id = image->layout.build_id};
    return image->placeable && image->layout.is_elf ? cs_images_open_mapped(images->proc, &file, &layout)
                                                    : -1;
}

/* The path by which we see the file: another one than its process, where that has a root of its own. */
static const char *own_path(int fd, const char *path, char *own, size_t size)
{
    char link[64];
    struct stat ours, its;
    if (stat(path, &ours) == 0 && fstat(fd, &its) == 0 && ours.st_ino == its.st_ino &&
        ours.st_dev == its.st_dev)
        return path;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, own, size - 1);
    if (n <= 0 || (size_t)n >= size - 1)
        return path;
    own[n] = '\0';
    return stat(own, &ours) == 0 && fstat(fd, &its) == 0 && ours.st_ino == its.st_ino &&
                   ours.st_dev == its.st_dev
               ? own
               : path;
}

/* ---- the vDSO: one of ours, perhaps another (32 bit) in other processes ---- */

static struct cs_mapped_image *vdso(struct cs_images *images, const struct cs_mapped_file *file)
{
    char path[64], key[64], id[CS_IMAGE_ID_MAX];
    struct cs_image_segments layout = {.is_elf = false};
    bool wide = file->start > UINT32_MAX;
    snprintf(key, sizeof key, "[vdso] %d", wide);
    struct cs_mapped_image *image = find(images, key);
    if (image)
        return image;
    uint64_t start = file->start;
    size_t size = file->end - file->start < VDSO_BYTES_MAX ? file->end - file->start : VDSO_BYTES_MAX;
    snprintf(path, sizeof path, "%s/%d/mem", images->proc, (int)file->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && wide) { /* not ours to read, but all 64-bit ones of a machine are the same */
        start = getauxval(AT_SYSINFO_EHDR);
        fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    }
    char *bytes = fd >= 0 ? malloc(size) : NULL;
    ssize_t got = bytes ? pread(fd, bytes, size, (off_t)start) : -1;
    if (got > 0)
        cs_image_segments_of_memory(&layout, bytes, (size_t)got);
    free(bytes);
    if (fd >= 0)
        close(fd);
    if (layout.build_id[0])
        snprintf(id, sizeof id, "%s", layout.build_id);
    else
        id_of_text(id, key);
    image = add(images, key, CS_IMAGE_VDSO, id, "[vdso]", layout.build_id);
    return image; /* linked at 0 and mapped whole: layout stays "offset = vaddr" */
}

/* A program may map ever new files. Those that are known go on. */
static struct cs_mapped_image *too_many(struct cs_images *images)
{
    images->cut++;
    if (!images->too_many)
        images->too_many = cs_images_special(images, CS_IMAGE_UNKNOWN, NULL, "[too many images]", "");
    if (images->too_many) {
        images->too_many->placeable = false;
        images->too_many->cut = true;
    }
    return images->too_many;
}

struct cs_mapped_image *cs_images_of_file(struct cs_images *images, const struct cs_mapped_file *file)
{
    char key[4300], id[CS_IMAGE_ID_MAX];
    struct cs_image_segments layout;
    if (strcmp(file->path, "[vdso]") == 0)
        return vdso(images, file);
    if (file->build_id[0]) {
        key[0] = 'b';
        memcpy(key + 1, file->build_id, strlen(file->build_id) + 1);
    } else {
        snprintf(key, sizeof key, "f%x:%x:%llx:%s", file->major, file->minor, (unsigned long long)file->inode,
                 file->path);
    }
    struct cs_mapped_image *image = find(images, key);
    if (image)
        return image;
    if (images->bytes > KEPT_BYTES_MAX)
        return too_many(images);

    int fd = cs_images_open_mapped(images->proc, file, &layout);
    if (fd < 0) { /* its build-id still says what it is; without one nothing does */
        if (file->build_id[0]) {
            snprintf(key, sizeof key, "F%s", file->build_id);
            image = find(images, key);
            id_of_text(id, key); /* not the build-id: these offsets count otherwise */
            return image ? image : add(images, key, CS_IMAGE_FILE, id, file->path, file->build_id);
        }
        id_of_text(id, key);
        image = add(images, key, CS_IMAGE_ELF, id, file->path, "");
        if (image)
            image->placeable = false;
        return image;
    }
    if (layout.build_id[0])
        snprintf(id, sizeof id, "%s", layout.build_id);
    else
        cs_image_identity_of_file(fd, id);
    char known[64], own[4200];
    const char *path = own_path(fd, file->path, own, sizeof own);
    snprintf(known, sizeof known, "b%s", id);
    image = find(images, known); /* told with its build-id, without it, under another name */
    if (!image) {
        image = add(images, known, CS_IMAGE_ELF, id, path, layout.build_id);
        if (image)
            image->layout = layout;
        if (image && images->keep) {
            images->keep--;
            image->fd = fd;
            fd = -1;
        }
    }
    if (fd >= 0)
        close(fd);
    if (strcmp(key, known) != 0)
        image = remember(images, key, image);
    return image;
}

struct cs_mapped_image *cs_images_special(struct cs_images *images, enum cs_store_image_kind kind,
                                          const char *id, const char *path, const char *build_id)
{
    char key[4300], hashed[CS_IMAGE_ID_MAX];
    snprintf(key, sizeof key, "s%d:%s:%s", (int)kind, id ? id : "", path);
    struct cs_mapped_image *image = find(images, key);
    if (image)
        return image;
    id_of_text(hashed, key);
    return add(images, key, kind, id ? id : hashed, path, build_id);
}

struct cs_images *cs_images_open(const char *proc)
{
    struct cs_images *images = calloc(1, sizeof *images);
    if (images)
        images->proc = proc;
    return images;
}

void cs_images_close(struct cs_images *images)
{
    if (!images)
        return;
    for (unsigned i = 0; i < images->n; i++)
        free_image(images->all[i]);
    for (unsigned b = 0; b < BUCKETS; b++)
        for (struct alias *a = images->buckets[b], *next; a; a = next) {
            next = a->next;
            free(a);
        }
    free(images->all);
    free(images);
}

uint64_t cs_images_cut(const struct cs_images *images)
{
    return images->cut;
}

unsigned cs_images_count(const struct cs_images *images)
{
    return images->n;
}

struct cs_mapped_image *cs_images_nth(const struct cs_images *images, unsigned i)
{
    return i < images->n ? images->all[i] : NULL;
}

void cs_images_keep(struct cs_images *images, unsigned most)
{
    images->keep = most;
}

int cs_images_take_file(struct cs_images *images, struct cs_mapped_image *image)
{
    struct cs_image_segments layout;
    struct stat st;
    int fd = image->fd;
    if (fd >= 0) {
        image->fd = -1;
        images->keep++;
        return fd;
    }
    if (image->image.kind != CS_IMAGE_ELF || !image->image.build_id[0] ||
        (fd = cs_open_regular(NULL, image->image.path, UINT64_MAX, &st)) < 0)
        return -1;
    if (cs_image_segments_of_file(&layout, fd) == 0 && strcmp(layout.build_id, image->image.build_id) == 0)
        return fd;
    close(fd);
    return -1;
}
