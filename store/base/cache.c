/* SPDX-License-Identifier: GPL-2.0-or-later */
/* FOLDER/HASH.KIND: a head, the key (padded to 16 bytes with zeros), the entry. The checksum is over all that
 * follows it. */
#include "store/base/cache.h"
#include "store/base/array.h"
#include "store/base/order.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define MAGIC UINT64_C(0x3165686361635343) /* "CScache1" */
#define USED_AGAIN_S 86400                 /* an entry's time is renewed at most daily */
#define LOOKS_ONE_IN 32 /* looking at the whole folder takes longer than writing: not at every save */

struct head {
    uint64_t magic, sum, n; /* n: of the entry's bytes */
    uint32_t key_bytes, unused;
};

static size_t padded(size_t n)
{
    return (n + 15) / 16 * 16;
}

/* Each missing part of the path, from the top. */
static int make_folders(char *path, mode_t mode)
{
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = 0;
        int rc = mkdir(path, mode) < 0 && errno != EEXIST ? -errno : 0;
        struct stat st;
        if (rc < 0 && stat(path, &st) == 0)
            rc = 0; /* a parent that we may not write to, but that is there */
        if (slash)
            *slash = '/';
        if (rc < 0 || !slash)
            return rc;
    }
}

static int users_folder(char *path, size_t capacity)
{
    const char *own = getenv("CYCLESCOPE_CACHE"), *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = own                               ? snprintf(path, capacity, "%s", own)
            : caches && *caches == '/'        ? snprintf(path, capacity, "%s/cyclescope", caches)
            : home && *home == '/' && home[1] ? snprintf(path, capacity, "%s/.cache/cyclescope", home)
                                              : 0;
    return n <= 0 ? -ENOENT : (size_t)n >= capacity ? -ENAMETOOLONG : 0;
}

int cs_cache_folder(char *path, size_t capacity)
{
    struct stat st;
    int rc = users_folder(path, capacity);
    return rc < 0 || stat(path, &st) == 0 ? rc : make_folders(path, 0700);
}

bool cs_cache_put(const char *path, const struct iovec *parts, unsigned n, bool others)
{
    char fresh[PATH_MAX];
    if (snprintf(fresh, sizeof fresh, "%s.XXXXXX", path) >= (int)sizeof fresh)
        return false;
    int fd = mkostemp(fresh, O_CLOEXEC);
    if (fd < 0)
        return false;
    bool whole = !others || fchmod(fd, 0644) == 0;
    for (unsigned i = 0; i < n && whole; i++)
        whole = write(fd, parts[i].iov_base, parts[i].iov_len) == (ssize_t)parts[i].iov_len;
    if (close(fd) == 0 && whole && rename(fresh, path) == 0)
        return true;
    unlink(fresh);
    return false;
}

void cs_cache_init(struct cs_cache *cache, const char *folder, const char *kind, uint64_t bytes_max)
{
    assert(kind[0] && strlen(kind) < sizeof cache->kind /* else two kinds would share entries */);
    *cache = (struct cs_cache){.bytes_max = bytes_max};
    if (folder && (size_t)snprintf(cache->folder, sizeof cache->folder, "%s", folder) >= sizeof cache->folder)
        cache->folder[0] = '\0';
    if (!folder && users_folder(cache->folder, sizeof cache->folder) < 0)
        cache->folder[0] = '\0';
    snprintf(cache->kind, sizeof cache->kind, "%s", kind);
}

static bool file_of(const struct cs_cache *cache, const char *key, char path[PATH_MAX])
{
    unsigned long long hash = XXH3_64bits(key, strlen(key));
    return cache->folder[0] &&
           snprintf(path, PATH_MAX, "%s/%016llx.%s", cache->folder, hash, cache->kind) < PATH_MAX;
}

bool cs_cache_load(const struct cs_cache *cache, const char *key, struct cs_cache_entry *entry)
{
    char path[PATH_MAX];
    struct stat st;
    *entry = (struct cs_cache_entry){0};
    int fd = file_of(cache, key, path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    if (fd < 0)
        return false;
    void *map = MAP_FAILED;
    /* What another user could have put there isn't ours. */
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_uid == geteuid() || st.st_uid == 0) &&
        (uint64_t)st.st_size >= sizeof(struct head))
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (map != MAP_FAILED) {
        const struct head *head = map;
        const size_t size = (size_t)st.st_size, key_bytes = strlen(key), after_sum = 2 * sizeof(uint64_t),
                     before = sizeof *head + padded(key_bytes);
        if (size >= before && head->magic == MAGIC && head->n == size - before &&
            head->key_bytes == key_bytes && memcmp(head + 1, key, key_bytes) == 0 &&
            XXH3_64bits((const char *)map + after_sum, size - after_sum) == head->sum) {
            *entry = (struct cs_cache_entry){(const char *)map + before, head->n, map, size};
            if (time(NULL) - st.st_mtime > USED_AGAIN_S)
                (void)futimens(fd, NULL);
        } else {
            munmap(map, size);
        }
    }
    close(fd);
    return entry->map != NULL;
}

void cs_cache_entry_fini(struct cs_cache_entry *entry)
{
    if (entry->map)
        munmap(entry->map, entry->map_bytes);
    *entry = (struct cs_cache_entry){0};
}

struct aged {
    time_t used;
    uint64_t bytes;
    char *name;
};

CS_ORDER(oldest_first, struct aged, cs_order(a->used, b->used))

/* Removes the entries (and what a crash left of some) that were not used for longest, until three quarters of
 * the bound are enough. */
static void make_room(const struct cs_cache *cache)
{
    CS_ARRAY(struct aged) all = {0};
    DIR *folder = opendir(cache->folder);
    uint64_t bytes = 0;
    char end[sizeof cache->kind + 1];
    snprintf(end, sizeof end, ".%s", cache->kind);
    for (const struct dirent *e; folder && (e = readdir(folder));) {
        struct stat st;
        if (!strstr(e->d_name, end) || fstatat(dirfd(folder), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        struct aged *one = cs_array_add(&all);
        if (!one || !(one->name = strdup(e->d_name)))
            break;
        one->used = st.st_mtime;
        bytes += one->bytes = (uint64_t)st.st_size;
    }
    if (bytes > cache->bytes_max)
        cs_sort(all.at, all.n, oldest_first);
    else
        bytes = 0;
    for (size_t i = 0; i < all.n; i++) {
        if (all.at[i].name && bytes > cache->bytes_max / 4 * 3 &&
            unlinkat(dirfd(folder), all.at[i].name, 0) == 0)
            bytes -= all.at[i].bytes;
        free(all.at[i].name);
    }
    cs_array_free(&all);
    if (folder)
        closedir(folder);
}

/* Of the head after the sum, the padded key, and all parts: as load reads them. */
static bool checksum(struct head *head, const char *key, size_t pad, const struct iovec *parts, unsigned n)
{
    static const char zeros[16];
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return false;
    XXH3_64bits_reset(state);
    XXH3_64bits_update(state, &head->n, sizeof *head - 2 * sizeof(uint64_t));
    XXH3_64bits_update(state, key, head->key_bytes);
    XXH3_64bits_update(state, zeros, pad);
    for (unsigned i = 0; i < n; i++)
        XXH3_64bits_update(state, parts[i].iov_base, parts[i].iov_len);
    head->sum = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return true;
}

bool cs_cache_save(const struct cs_cache *cache, const char *key, const struct iovec *parts, unsigned n)
{
    static const char zeros[16];
    struct iovec all[3 + 8];
    char path[PATH_MAX], folder[sizeof cache->folder];
    struct stat st;
    struct head head = {.magic = MAGIC, .key_bytes = (uint32_t)strlen(key)};
    const size_t pad = padded(head.key_bytes) - head.key_bytes;
    if (n > 8 || !file_of(cache, key, path))
        return false;
    all[0] = (struct iovec){&head, sizeof head};
    all[1] = (struct iovec){(void *)key, head.key_bytes};
    all[2] = (struct iovec){(void *)zeros, pad};
    for (unsigned i = 0; i < n; i++) {
        all[3 + i] = parts[i];
        head.n += parts[i].iov_len;
    }
    memcpy(folder, cache->folder, sizeof folder);
    if (head.n > cache->bytes_max || !checksum(&head, key, pad, parts, n) ||
        (stat(folder, &st) < 0 && make_folders(folder, cache->for_others ? 0755 : 0700) < 0) ||
        !cs_cache_put(path, all, 3 + n, cache->for_others))
        return false;
    if (head.sum % LOOKS_ONE_IN == 0)
        make_room(cache);
    return true;
}
