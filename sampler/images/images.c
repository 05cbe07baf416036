/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images by build-id or file. The file behind a mapping is opened through the process (its mount namespace, deleted
 * files too). It is believed only if its build-id or inode is the one that the kernel reported. A file that replaced
 * it under the same name is another image. A file that somebody else may write is another image than root's of the
 * same build-id. It is looked at again for each mapping: file_owner.h. */
#include "sampler/images/images.h"
#include "sampler/images/file_owner.h"
#include "store/base/array.h"
#include "store/base/clock.h"
#include "store/base/foreign.h"
#include "store/base/hash_seed.h"
#include "store/base/regular_file.h"

#include <assert.h>
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
#define LOOK_AGAIN_NS 1000000000ULL
#define KEPT_BYTES_MAX (8UL << 20) /* some 10,000 images */

struct alias { /* one image may be met under several keys */
    struct alias *next;
    struct cs_mapped_image *image;
    struct cs_file_version version; /* of the file that it stands for */
    pid_t pid;                      /* for whom it was looked at last */
    uint64_t looked_ns;
    char key[];
};

struct cs_images {
    const char *proc;
    struct alias *buckets[BUCKETS];
    struct cs_mapped_image **all;
    unsigned n, capacity;
    size_t bytes;                              /* of images and keys */
    uint64_t cut;                              /* mappings of files that were one too many */
    uint64_t conflicts;                        /* images with another one's build-id and another owner */
    const struct cs_mapped_image *conflict[2]; /* the latest: the second has the first one's build-id */
    struct cs_mapped_image *too_many;          /* stands for them */
    unsigned keep;                             /* so many more files may stay open */
};

static struct alias **bucket_of(struct cs_images *images, const char *key)
{
    return &images->buckets[XXH3_64bits_withSeed(key, strlen(key), cs_hash_seed) % BUCKETS];
}

static struct alias *alias_of(struct cs_images *images, const char *key)
{
    struct alias *a = *bucket_of(images, key);
    while (a && strcmp(a->key, key) != 0)
        a = a->next;
    return a;
}

static struct cs_mapped_image *find(struct cs_images *images, const char *key)
{
    const struct alias *a = alias_of(images, key);
    return a ? a->image : NULL;
}

/* Under this key from now on, whatever was there. */
static struct cs_mapped_image *remember(struct cs_images *images, const char *key,
                                        struct cs_mapped_image *image, const struct cs_file_version *version)
{
    size_t size = strlen(key) + 1;
    struct alias *a = image ? alias_of(images, key) : NULL, **bucket;
    if (!image || (!a && !(a = malloc(sizeof *a + size))))
        return NULL;
    if (!alias_of(images, key)) {
        memcpy(a->key, key, size);
        images->bytes += sizeof *a + size;
        bucket = bucket_of(images, key);
        a->next = *bucket;
        *bucket = a;
    }
    a->image = image;
    a->pid = 0;
    a->version = version ? *version : (struct cs_file_version){.others = false};
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
    if (cs_array_room(images->all, images->n, images->capacity) < 0)
        goto out;
    if (!image->image.path || !image->image.build_id || !remember(images, key, image, NULL))
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

static bool same_file(const struct stat *st, const struct cs_mapped_file *file)
{
    return file->inode != 0 && st->st_ino == file->inode && major(st->st_dev) == file->major &&
           minor(st->st_dev) == file->minor;
}

int cs_images_open_mapped(const char *proc, const struct cs_mapped_file *file,
                          struct cs_image_segments *layout, struct stat *st)
{
    char root[300], through[300];
    snprintf(root, sizeof root, "%s/%d/root", proc, (int)file->pid);
    snprintf(through, sizeof through, "%s/%d/map_files/%llx-%llx", proc, (int)file->pid,
             (unsigned long long)file->start, (unsigned long long)file->end);
    /* Paths first: the link through map_files is exact, but walks the process's maps. */
    for (int i = 0; i < 3; i++) {
        int fd = cs_open_regular(i == 0 ? root : NULL, i == 1 ? through : file->path, FILE_BYTES_MAX, st);
        if (fd < 0)
            continue;
        if (cs_image_segments_of_file(layout, fd) == 0) {
            bool told = file->build_id[0] != '\0';
            if (told ? strcmp(layout->build_id, file->build_id) == 0 : i == 1 || same_file(st, file))
                return fd;
        }
        close(fd);
    }
    return -1;
}

/* What the store calls the image of an open file: by its build-id, else by what it holds, and by who may write it. */
static void id_of_file(int fd, const struct cs_image_segments *layout, const struct stat *st,
                       char id[CS_IMAGE_ID_MAX])
{
    if (layout->build_id[0])
        snprintf(id, CS_IMAGE_ID_MAX, "%s", layout->build_id);
    else
        cs_image_identity_of_file(fd, id);
    cs_file_owner_mark(st, id);
}

/* The file if it is the image's; closed and -1 if not. */
static int only_of_image(int fd, const struct cs_mapped_image *image, const struct cs_image_segments *layout,
                         const struct stat *st)
{
    char id[CS_IMAGE_ID_MAX];
    if (fd < 0)
        return -1;
    id_of_file(fd, layout, st, id);
    if (strcmp(id, image->image.id) == 0)
        return fd;
    close(fd);
    return -1;
}

int cs_images_reopen(const struct cs_images *images, const struct cs_mapped_image *image, pid_t pid,
                     uint64_t start, uint64_t end)
{
    struct cs_image_segments layout;
    struct stat st;
    struct cs_mapped_file file = {.pid = pid,
                                  .start = start,
                                  .end = end,
                                  .path = image->image.path,
                                  .build_id = image->layout.build_id};
    if (!image->placeable || !image->layout.is_elf)
        return -1;
    return only_of_image(cs_images_open_mapped(images->proc, &file, &layout, &st), image, &layout, &st);
}

/* The path by which we see the file: another one than its process, where that has a root of its own. */
static const char *own_path(int fd, const struct stat *its, const char *path, char *own, size_t size)
{
    char link[64];
    struct stat ours;
    if (cs_stat_beneath(NULL, path, &ours) == 0 && ours.st_ino == its->st_ino && ours.st_dev == its->st_dev)
        return path;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, own, size - 1);
    if (n <= 0 || (size_t)n >= size - 1)
        return path;
    own[n] = '\0';
    return cs_stat_beneath(NULL, own, &ours) == 0 && ours.st_ino == its->st_ino && ours.st_dev == its->st_dev
               ? own
               : path;
}

/* ---- the vDSO: one of ours, perhaps another (32 bit) in other processes ---- */

static struct cs_mapped_image *vdso(struct cs_images *images, const struct cs_mapped_file *file)
{
    char key[64], id[CS_IMAGE_ID_MAX];
    struct cs_image_segments layout = {.is_elf = false};
    bool wide = file->start > UINT32_MAX;
    snprintf(key, sizeof key, "[vdso] %d", wide);
    struct cs_mapped_image *image = find(images, key);
    if (image)
        return image;
    uint64_t start = file->start;
    size_t size = file->end - file->start < VDSO_BYTES_MAX ? file->end - file->start : VDSO_BYTES_MAX;
    /* All 64-bit ones of a machine are the same, and nobody but us has written to ours. */
    if (wide)
        start = getauxval(AT_SYSINFO_EHDR);
    char *bytes = malloc(size);
    if (bytes && cs_foreign_memory(wide ? getpid() : file->pid, start, bytes, size))
        cs_image_segments_of_memory(&layout, bytes, size);
    free(bytes);
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

/* Does the path still lead to the file that was met under it? As the process sees it, or as we do once it has ended. */
static bool still_there(const struct cs_images *images, const struct cs_mapped_file *file,
                        const struct cs_file_version *version)
{
    char root[300];
    struct stat st;
    snprintf(root, sizeof root, "%s/%d/root", images->proc, (int)file->pid);
    return (cs_stat_beneath(root, file->path, &st) == 0 || cs_stat_beneath(NULL, file->path, &st) == 0) &&
           cs_file_version_is(version, &st);
}

/* A process that maps its own file again and again deceives itself at most: it is looked at once a second. */
static bool is_fresh(const struct cs_images *images, const struct cs_mapped_file *file, struct alias *known)
{
    const uint64_t now = cs_monotonic_ns();
    if (!known->version.others || (known->pid == file->pid && now - known->looked_ns < LOOK_AGAIN_NS))
        return true;
    if (!still_there(images, file, &known->version))
        return false;
    known->pid = file->pid;
    known->looked_ns = now;
    return true;
}

/* Another image has this build-id, whose owner is another one. */
static void note_conflict(struct cs_images *images, const struct cs_mapped_image *image)
{
    char key[64];
    snprintf(key, sizeof key, "B%s", image->image.build_id);
    struct cs_mapped_image *first = image->image.build_id[0] ? find(images, key) : NULL;
    if (!first) {
        if (image->image.build_id[0])
            (void)remember(images, key, (struct cs_mapped_image *)image, NULL);
        return;
    }
    images->conflicts++;
    images->conflict[0] = first;
    images->conflict[1] = image;
}

/* The image of an open file; takes the descriptor. */
static struct cs_mapped_image *image_of_open(struct cs_images *images, int fd, const char *seen_path,
                                             const struct cs_image_segments *layout, const struct stat *st)
{
    char id[CS_IMAGE_ID_MAX], known[CS_IMAGE_ID_MAX + 1], own[4200];
    id_of_file(fd, layout, st, id);
    snprintf(known, sizeof known, "i%s", id);
    struct cs_mapped_image *image = find(images, known); /* met under another name */
    if (!image) {
        image = add(images, known, CS_IMAGE_ELF, id, own_path(fd, st, seen_path, own, sizeof own),
                    layout->build_id);
        if (image) {
            image->layout = *layout;
            note_conflict(images, image);
        }
        if (image && images->keep) {
            images->keep--;
            image->fd = fd;
            fd = -1;
        }
    }
    if (fd >= 0)
        close(fd);
    return image;
}

/* Its build-id still says what it is; without one nothing does. */
static struct cs_mapped_image *image_of_gone(struct cs_images *images, const struct cs_mapped_file *file,
                                             char *key)
{
    char id[CS_IMAGE_ID_MAX];
    if (file->build_id[0]) {
        key[0] = 'F';
        struct cs_mapped_image *image = find(images, key);
        id_of_text(id, key); /* not the build-id: these offsets count otherwise */
        return image ? image : add(images, key, CS_IMAGE_FILE, id, file->path, file->build_id);
    }
    id_of_text(id, key);
    struct cs_mapped_image *image = add(images, key, CS_IMAGE_ELF, id, file->path, "");
    if (image)
        image->placeable = false;
    return image;
}

struct cs_mapped_image *cs_images_of_file(struct cs_images *images, const struct cs_mapped_file *file)
{
    char key[4300];
    struct cs_image_segments layout;
    struct stat st;
    if (strcmp(file->path, "[vdso]") == 0)
        return vdso(images, file);
    if (file->build_id[0]) /* and the path: a stranger's file of that build-id is told apart */
        snprintf(key, sizeof key, "b%s:%s", file->build_id, file->path);
    else
        snprintf(key, sizeof key, "f%x:%x:%llx:%s", file->major, file->minor, (unsigned long long)file->inode,
                 file->path);
    struct alias *known = alias_of(images, key);
    if (known && is_fresh(images, file, known))
        return known->image;
    if (images->bytes > KEPT_BYTES_MAX)
        return too_many(images);
    int fd = cs_images_open_mapped(images->proc, file, &layout, &st);
    if (fd < 0)
        return image_of_gone(images, file, key);
    const struct cs_file_version version = cs_file_version_of(&st);
    return remember(images, key, image_of_open(images, fd, file->path, &layout, &st), &version);
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

struct cs_mapped_image *cs_images_made(struct cs_images *images, const char *path, uid_t user)
{
    char id[CS_IMAGE_ID_MAX], key[4300];
    const struct stat as_file = {.st_uid = user};
    snprintf(key, sizeof key, "s%d::%s", (int)CS_IMAGE_JIT, path);
    id_of_text(id, key);
    cs_file_owner_mark(&as_file, id);
    return cs_images_special(images, CS_IMAGE_JIT, id, path, "");
}

struct cs_images *cs_images_open(const char *proc)
{
    assert(proc);
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

uint64_t cs_images_conflicts(const struct cs_images *images, const struct cs_mapped_image *latest[2])
{
    latest[0] = images->conflict[0];
    latest[1] = images->conflict[1];
    return images->conflicts;
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
    if (cs_image_segments_of_file(&layout, fd) != 0)
        layout = (struct cs_image_segments){.is_elf = false};
    return only_of_image(fd, image, &layout, &st);
}

struct cs_mapped_image *cs_images_of_memory_file(struct cs_images *images, const struct cs_mapped_file *file)
{
    char key[4300], path[300];
    struct cs_image_segments layout = {.is_elf = false};
    struct stat st;
    snprintf(key, sizeof key, "m%x:%x:%llx:%s", file->major, file->minor, (unsigned long long)file->inode,
             file->path);
    const struct alias *known = alias_of(images, key);
    if (known)
        return known->image;
    if (images->bytes > KEPT_BYTES_MAX)
        return NULL;
    int fd = -1;
    for (int i = 0; i < 2 && fd < 0; i++) { /* the second needs no rights beyond the process's */
        if (i == 0)
            snprintf(path, sizeof path, "%s/%d/map_files/%llx-%llx", images->proc, (int)file->pid,
                     (unsigned long long)file->start, (unsigned long long)file->end);
        else
            snprintf(path, sizeof path, "%s/%d/exe", images->proc, (int)file->pid);
        fd = cs_open_regular(NULL, path, FILE_BYTES_MAX, &st);
        if (fd >= 0 && ((i == 1 && !same_file(&st, file)) || cs_image_segments_of_file(&layout, fd) < 0 ||
                        !layout.is_elf)) {
            close(fd);
            fd = -1;
        }
    }
    struct cs_mapped_image *image = fd >= 0 ? image_of_open(images, fd, file->path, &layout, &st) : NULL;
    return image ? remember(images, key, image, NULL) : NULL;
}
