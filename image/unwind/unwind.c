/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/unwind/unwind.h"
#include "image/file/elf.h"
#include "image/file/segments.h"
#include "image/unwind/build.h"
#include "store/base/cache.h"
#include "store/base/regular_file.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION 7 /* changes with what rows.h and the makers of rows say */
#define KEY_MAX 256
#define CACHE_BYTES_MAX ((uint64_t)512 << 20)

struct cs_unwind {
    const struct cs_unwind_header *table;
    size_t n;
    struct cs_unwind_header *own;
    void *map; /* n bytes */
    struct cs_cache_entry entry;
};

static int take_table(struct cs_unwind *unwind, const struct elf_file *file, bool *other_debug,
                      struct cs_error *err)
{
    unwind->own = unwind_of_elf(file, &unwind->n, other_debug, err);
    unwind->table = unwind->own;
    return unwind->own ? 0 : -err->code;
}

/* From the file's headers alone, by reads. False where an entry would not be found again. */
static bool key_of(const char *path, char key[KEY_MAX])
{
    struct stat st;
    struct cs_image_segments layout;
    char id[CS_IMAGE_ID_MAX] = "";
    int fd = cs_open_regular(NULL, path, INT64_MAX, &st);
    if (fd < 0)
        return false;
    bool read = cs_image_segments_of_file(&layout, fd) == 0 && layout.is_elf;
    if (read && !layout.build_id[0])
        cs_image_identity_of_file(fd, id);
    close(fd);
    int used = snprintf(key, KEY_MAX, "unwind %d of %s, %lld bytes of %lld ns", VERSION,
                        layout.build_id[0] ? layout.build_id : id, (long long)st.st_size,
                        st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec);
    /* Whoever owns a file chooses all of that: not what others have of root's. */
    if (used > 0 && used < KEY_MAX && (st.st_uid != 0 || st.st_mode & (S_IWGRP | S_IWOTH)))
        snprintf(key + used, KEY_MAX - (size_t)used, ", file %llu of %llu, changed %lld ns",
                 (unsigned long long)st.st_ino, (unsigned long long)st.st_dev,
                 st.st_ctim.tv_sec * 1000000000LL + st.st_ctim.tv_nsec);
    return read;
}

/* What a table's sizes and places say is held against its bytes: a cache's entry was written by us and has a checksum, what a
 * child made has neither. */
static bool is_whole(const struct cs_unwind_header *h, size_t n)
{
    if (n < sizeof *h || h->n_blocks > (1U << (32 - CS_UNWIND_BLOCK_BITS)) ||
        h->n_rules > CS_UNWIND_RULES_MAX || unwind_table_size(h) != n ||
        h->end > (uint64_t)h->n_blocks << CS_UNWIND_BLOCK_BITS)
        return false;
    const __u32 *first = cs_unwind_first(h);
    for (uint32_t i = 0; i < h->n_blocks; i++)
        if (first[i] >= first[i + 1])
            return false;
    if (first[h->n_blocks] != h->n_rows)
        return false;
    const struct cs_unwind_row *rows = cs_unwind_rows(h);
    for (uint32_t i = 0; i < h->n_rows; i++)
        if (rows[i].rule >= h->n_rules)
            return false;
    return true;
}

static bool load_cached(const struct cs_cache *cache, const char *key, struct cs_unwind *unwind)
{
    if (!cs_cache_load(cache, key, &unwind->entry))
        return false;
    unwind->table = unwind->entry.bytes;
    unwind->n = unwind->entry.n;
    if (is_whole(unwind->table, unwind->n))
        return true;
    cs_cache_entry_fini(&unwind->entry);
    return false;
}

int cs_unwind_open_cached(const char *path, struct cs_unwind **out)
{
    struct cs_unwind *unwind = calloc(1, sizeof *unwind);
    struct cs_cache cache;
    char key[KEY_MAX];
    if (!unwind)
        return -ENOMEM;
    cs_cache_init(&cache, NULL, "unwind", CACHE_BYTES_MAX);
    if (!key_of(path, key) || !load_cached(&cache, key, unwind)) {
        free(unwind);
        return -ENOENT;
    }
    *out = unwind;
    return 0;
}

int cs_unwind_open(const char *path, struct cs_unwind **out, struct cs_error *err)
{
    struct cs_unwind *unwind = calloc(1, sizeof *unwind);
    struct cs_cache cache;
    struct elf_file *file = NULL;
    char key[KEY_MAX];
    bool other_debug = false;
    if (!unwind)
        return cs_fail(err, ENOMEM, "no memory for the frame table of %s", path);
    cs_cache_init(&cache, NULL, "unwind", CACHE_BYTES_MAX);
    bool keep = key_of(path, key);
    if (keep && load_cached(&cache, key, unwind)) {
        *out = unwind;
        return 0;
    }
    int rc = elf_file_open(path, &file, err);
    if (rc == 0)
        rc = take_table(unwind, file, &other_debug, err);
    elf_file_close(file);
    if (rc < 0) {
        cs_unwind_close(unwind);
        return rc;
    }
    if (keep && !other_debug)
        cs_cache_save(&cache, key, &(struct iovec){unwind->own, unwind->n}, 1);
    assert(unwind->table && unwind->n >= unwind_table_size(unwind->table));
    *out = unwind;
    return 0;
}

int unwind_of_map(void *map, size_t n, const char *path, struct cs_unwind **out)
{
    struct cs_unwind *unwind = is_whole(map, n) ? calloc(1, sizeof *unwind) : NULL;
    struct cs_cache cache;
    char key[KEY_MAX];
    if (!unwind) {
        munmap(map, n);
        return -ENOEXEC;
    }
    unwind->table = unwind->map = map;
    unwind->n = n;
    *out = unwind;
    cs_cache_init(&cache, NULL, "unwind", CACHE_BYTES_MAX);
    if (path && key_of(path, key))
        cs_cache_save(&cache, key, &(struct iovec){map, n}, 1);
    return 0;
}

int cs_unwind_open_memory(char *bytes, size_t n, struct cs_unwind **out, struct cs_error *err)
{
    struct cs_unwind *unwind = calloc(1, sizeof *unwind);
    struct elf_file *file = NULL;
    bool other_debug;
    if (!unwind) {
        free(bytes);
        return cs_fail(err, ENOMEM, "no memory for a frame table");
    }
    int rc = elf_file_from_memory(bytes, n, "an image in memory", &file, err);
    if (rc == 0)
        rc = take_table(unwind, file, &other_debug, err);
    elf_file_close(file);
    if (rc < 0)
        cs_unwind_close(unwind);
    else
        *out = unwind;
    return rc;
}

void cs_unwind_close(struct cs_unwind *unwind)
{
    if (!unwind)
        return;
    cs_cache_entry_fini(&unwind->entry);
    if (unwind->map)
        munmap(unwind->map, unwind->n);
    free(unwind->own);
    free(unwind);
}

const struct cs_unwind_header *cs_unwind_table(const struct cs_unwind *unwind, size_t *n)
{
    *n = unwind->n;
    return unwind->table;
}

const __u32 *cs_unwind_first(const struct cs_unwind_header *table)
{
    return (const __u32 *)(table + 1);
}

const struct cs_unwind_row *cs_unwind_rows(const struct cs_unwind_header *table)
{
    return (const struct cs_unwind_row *)(cs_unwind_first(table) + table->n_blocks + 1);
}

static const struct cs_unwind_rule *rules_of(const struct cs_unwind_header *table)
{
    return (const struct cs_unwind_rule *)(cs_unwind_rows(table) + table->n_rows);
}

const struct cs_unwind_rule *cs_unwind_rule_at(const struct cs_unwind_header *table, uint64_t vaddr)
{
    static const struct cs_unwind_rule none = {0};
    uint64_t offset = vaddr - table->base;
    if (vaddr < table->base || offset >= table->end)
        return &none;
    const __u32 *first = cs_unwind_first(table);
    const struct cs_unwind_row *rows = cs_unwind_rows(table);
    uint32_t block = (uint32_t)(offset >> CS_UNWIND_BLOCK_BITS), low = first[block], high = first[block + 1];
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (rows[middle].at <= (offset & (CS_UNWIND_BLOCK - 1)))
            low = middle;
        else
            high = middle;
    }
    return &rules_of(table)[rows[low].rule];
}
