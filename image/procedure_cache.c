/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An entry is a head, then arrays of fixed width in the machine's own byte order, then strings of ours:
 *
 *     head | ranges, nested, ascending | procedures | parts of those that have several | strings
 *
 * Addresses are relative to the lowest. A name is an offset into the image, the debug file or the strings.
 * About 45 bytes a procedure. */
#include "image/procedure_cache.h"
#include "analysis/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define MAGIC UINT64_C(0x31636f7270736363) /* changes with the layout and with what procedures.c makes */
#define PROCEDURES_LEAST 64                /* smaller images are read as quickly */
#define FOLDER_MOST ((uint64_t)256 << 20)  /* bytes */
#define USED_AGAIN_S 86400                 /* an entry's time is renewed at most daily */

enum name_base { NAME_IMAGE, NAME_DEBUG, NAME_OURS, NAME_ADDRESS };

struct head {
    uint64_t magic, sum; /* of all that follows */
    char build_id[96];
    uint64_t image_size, debug_size; /* 0 = no debug file */
    int64_t image_changed_ns, debug_changed_ns;
    uint64_t base;
    uint32_t n_ranges, n_procedures, n_parts, strings_size;
};

struct entry_range {
    uint32_t low, size, id, parent;
};
struct entry_procedure {
    uint32_t start, size, name, first_part, n_parts;
    uint8_t source, base, unused[2];
};
struct entry_part {
    uint32_t start, size;
};

struct procedure_cache {
    void *map;
    size_t size;
    const struct head *head;
    const struct entry_range *ranges;
    const struct entry_procedure *procedures;
    const struct entry_part *parts;
    const char *strings;
    const struct elf_file *image, *debug;
};

static struct head head_of(const struct elf_file *image, const struct elf_file *debug)
{
    struct head h = {.magic = MAGIC, .image_size = image->size, .image_changed_ns = image->changed_ns};
    snprintf(h.build_id, sizeof h.build_id, "%s", image->build_id);
    if (debug) {
        h.debug_size = debug->size;
        h.debug_changed_ns = debug->changed_ns;
    }
    return h;
}

static size_t size_of(const struct head *h)
{
    return sizeof *h + (size_t)h->n_ranges * sizeof(struct entry_range) +
           (size_t)h->n_procedures * sizeof(struct entry_procedure) +
           (size_t)h->n_parts * sizeof(struct entry_part) + h->strings_size;
}

static bool path_of(const struct elf_file *image, char *path, size_t room)
{
    char folder[PATH_MAX];
    if (!image->mapped || strlen(image->build_id) < 8 || cs_cache_folder(folder, sizeof folder) < 0)
        return false;
    int n = snprintf(path, room, "%s/%s.procedures", folder, image->build_id);
    return n > 0 && (size_t)n < room;
}

static uint64_t sum_of(const void *entry, size_t size)
{
    size_t from = offsetof(struct head, build_id);
    return XXH3_64bits((const char *)entry + from, size - from);
}

static bool whole(const struct head *h, size_t size, const struct head *expected)
{
    return size >= sizeof *h && h->magic == MAGIC && memcmp(h->build_id, expected->build_id, 96) == 0 &&
           h->image_size == expected->image_size && h->image_changed_ns == expected->image_changed_ns &&
           h->debug_size == expected->debug_size && h->debug_changed_ns == expected->debug_changed_ns &&
           size_of(h) == size && sum_of(h, size) == h->sum;
}

struct procedure_cache *procedure_cache_open(const struct elf_file *image, const struct elf_file *debug)
{
    char path[PATH_MAX];
    struct stat st;
    int fd =
        path_of(image, path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    if (fd < 0)
        return NULL;
    void *map = MAP_FAILED;
    /* What another user could have put there isn't ours. */
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_uid == geteuid() || st.st_uid == 0) &&
        st.st_size > 0)
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    struct procedure_cache *cache = map == MAP_FAILED ? NULL : calloc(1, sizeof *cache);
    struct head expected = head_of(image, debug);
    if (!cache || !whole(map, (size_t)st.st_size, &expected)) {
        if (map != MAP_FAILED)
            munmap(map, (size_t)st.st_size);
        free(cache);
        close(fd);
        return NULL;
    }
    if (time(NULL) - st.st_mtime > USED_AGAIN_S)
        (void)futimens(fd, NULL);
    close(fd);
    *cache = (struct procedure_cache){
        .map = map, .size = (size_t)st.st_size, .head = map, .image = image, .debug = debug};
    cache->ranges = (const void *)(cache->head + 1);
    cache->procedures = (const void *)(cache->ranges + cache->head->n_ranges);
    cache->parts = (const void *)(cache->procedures + cache->head->n_procedures);
    cache->strings = (const void *)(cache->parts + cache->head->n_parts);
    return cache;
}

void procedure_cache_close(struct procedure_cache *cache)
{
    if (!cache)
        return;
    munmap(cache->map, cache->size);
    free(cache);
}

size_t procedure_cache_n(const struct procedure_cache *cache)
{
    return cache->head->n_procedures;
}

size_t procedure_cache_n_parts(const struct procedure_cache *cache)
{
    return cache->head->n_parts;
}

uint32_t procedure_cache_first_part(const struct procedure_cache *cache, uint32_t i)
{
    return cache->procedures[i].first_part;
}

uint32_t procedure_cache_find(const struct procedure_cache *cache, uint64_t offset)
{
    if (offset < cache->head->base || offset - cache->head->base > UINT32_MAX)
        return CS_RANGE_NONE;
    uint32_t at = (uint32_t)(offset - cache->head->base), low = 0, high = cache->head->n_ranges;
    while (low < high) { /* first range that starts above `at` */
        uint32_t middle = low + (high - low) / 2;
        if (cache->ranges[middle].low <= at)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t i = low; i-- > 0;) {
        const struct entry_range *r = &cache->ranges[i];
        if (at - r->low < r->size)
            return r->id < cache->head->n_procedures ? r->id : CS_RANGE_NONE;
        if (r->parent >= i) /* the top, or damaged */
            break;
        i = r->parent + 1;
    }
    return CS_RANGE_NONE;
}

static const char *text_at(const char *text, size_t size, uint32_t offset)
{
    return offset < size && memchr(text + offset, 0, size - offset) ? text + offset : NULL;
}

bool procedure_cache_get(const struct procedure_cache *cache, uint32_t i, struct cs_procedure *procedure)
{
    const struct entry_procedure *e = &cache->procedures[i];
    const char *name = e->base == NAME_IMAGE  ? text_at(cache->image->map, cache->image->size, e->name)
                       : e->base == NAME_OURS ? text_at(cache->strings, cache->head->strings_size, e->name)
                       : e->base == NAME_DEBUG && cache->debug
                           ? text_at(cache->debug->map, cache->debug->size, e->name)
                           : NULL;
    bool parts_fit = e->n_parts == 1 || (e->n_parts && e->first_part <= cache->head->n_parts &&
                                         e->n_parts <= cache->head->n_parts - e->first_part);
    if ((!name && e->base != NAME_ADDRESS) || !parts_fit || e->source > CS_FROM_STORE)
        return false;
    *procedure = (struct cs_procedure){.name = name,
                                       .start = cache->head->base + e->start,
                                       .size = e->size,
                                       .source = (enum cs_procedure_source)e->source,
                                       .n_parts = e->n_parts};
    return true;
}

struct cs_part procedure_cache_part(const struct procedure_cache *cache, uint32_t i, unsigned part)
{
    const struct entry_procedure *e = &cache->procedures[i];
    if (e->n_parts == 1)
        return (struct cs_part){cache->head->base + e->start, e->size};
    const struct entry_part *p = &cache->parts[e->first_part + part];
    return (struct cs_part){cache->head->base + p->start, p->size};
}

/* Removes the entries that were not used for longest until three quarters of the room are enough. */
struct aged {
    time_t used;
    off_t size;
    char *name;
};

static int oldest_first(const void *a, const void *b)
{
    const struct aged *x = a, *y = b;
    return (x->used > y->used) - (x->used < y->used);
}

static void make_room(const char *folder)
{
    DIR *d = opendir(folder);
    struct aged *list = NULL;
    size_t n = 0, room = 0;
    uint64_t bytes = 0;
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
        struct stat st;
        if (!strstr(e->d_name, ".procedures") || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (n == room) {
            struct aged *grown = realloc(list, (room = room ? 2 * room : 256) * sizeof *grown);
            if (!grown)
                goto out;
            list = grown;
        }
        list[n] = (struct aged){st.st_mtime, st.st_size, strdup(e->d_name)};
        bytes += (uint64_t)st.st_size;
        n += list[n].name != NULL;
    }
    if (bytes > FOLDER_MOST)
        qsort(list, n, sizeof *list, oldest_first);
    for (size_t i = 0; i < n && bytes > FOLDER_MOST / 4 * 3 && (i || bytes > FOLDER_MOST); i++)
        if (unlinkat(dirfd(d), list[i].name, 0) == 0)
            bytes -= (uint64_t)list[i].size;
out:
    for (size_t i = 0; i < n; i++)
        free(list[i].name);
    free(list);
    if (d)
        closedir(d);
}

static void put_file(const char *path, const void *entry, size_t size)
{
    char folder[PATH_MAX];
    if (!cs_cache_put(path, &(struct iovec){(void *)entry, size}, 1, false))
        return;
    /* Looking at the whole folder takes longer than writing: one time in 32 is enough. */
    if (((const struct head *)entry)->sum % 32 == 0 && cs_cache_folder(folder, sizeof folder) == 0)
        make_room(folder);
}

static bool within(const struct elf_file *file, const char *name, uint32_t *offset)
{
    uintptr_t from = file ? (uintptr_t)file->map : 0, at = (uintptr_t)name;
    if (!file || at < from || at - from >= file->size || at - from > UINT32_MAX)
        return false;
    *offset = (uint32_t)(at - from);
    return true;
}

struct writing {
    const struct procedures *p;
    const struct elf_file *image, *debug;
    struct head head;
    struct entry_range *ranges;
    struct entry_procedure *procedures;
    struct entry_part *parts;
    char *strings;
};

static uint32_t relative(const struct writing *w, uint64_t address)
{
    return (uint32_t)(address - w->head.base);
}

static void put_name(struct writing *w, const struct cs_procedure *from, struct entry_procedure *to)
{
    if (from->source == CS_FROM_CFI && strncmp(from->name, "sub_", 4) == 0)
        to->base = NAME_ADDRESS;
    else if (within(w->image, from->name, &to->name))
        to->base = NAME_IMAGE;
    else if (within(w->debug, from->name, &to->name))
        to->base = NAME_DEBUG;
    else {
        size_t n = strlen(from->name) + 1;
        to->base = NAME_OURS;
        to->name = w->head.strings_size;
        if (w->strings)
            memcpy(w->strings + w->head.strings_size, from->name, n);
        w->head.strings_size += (uint32_t)n;
    }
}

/* Without arrays it only counts: what an entry takes is known after the first pass. */
static void put_procedures(struct writing *w)
{
    w->head.n_parts = w->head.strings_size = 0;
    for (size_t i = 0; i < w->p->n; i++) {
        const struct cs_procedure *from = &w->p->list[i];
        struct entry_procedure to = {.start = relative(w, from->start),
                                     .size = (uint32_t)from->size,
                                     .first_part = w->head.n_parts,
                                     .n_parts = from->n_parts,
                                     .source = (uint8_t)from->source};
        put_name(w, from, &to);
        if (w->procedures)
            w->procedures[i] = to;
        for (unsigned k = 0; from->n_parts > 1 && k < from->n_parts; k++, w->head.n_parts++)
            if (w->parts)
                w->parts[w->head.n_parts] =
                    (struct entry_part){relative(w, from->parts[k].start), (uint32_t)from->parts[k].size};
    }
}

/* All addresses and sizes in 32 bits, from the lowest on. */
static bool spans_little(const struct procedures *p, uint64_t *base)
{
    uint64_t low = UINT64_MAX, high = 0;
    for (uint32_t i = 0; i < p->ranges.n; i++) {
        low = p->ranges.range[i].low < low ? p->ranges.range[i].low : low;
        high = p->ranges.range[i].high > high ? p->ranges.range[i].high : high;
    }
    for (size_t i = 0; i < p->n; i++)
        for (unsigned k = 0; k < p->list[i].n_parts; k++) {
            const struct cs_part *part = &p->list[i].parts[k];
            if (part->size > UINT32_MAX)
                return false;
            low = part->start < low ? part->start : low;
            high = part->start > high ? part->start : high;
        }
    *base = low;
    return low <= high && high - low < UINT32_MAX;
}

void procedure_cache_write(const struct procedures *p, const struct elf_file *image,
                           const struct elf_file *debug)
{
    char path[PATH_MAX];
    struct writing w = {.p = p, .image = image, .debug = debug, .head = head_of(image, debug)};
    if (p->n < PROCEDURES_LEAST || p->n > UINT32_MAX / 2 || !spans_little(p, &w.head.base) ||
        !path_of(image, path, sizeof path))
        return;
    w.head.n_ranges = p->ranges.n;
    w.head.n_procedures = (uint32_t)p->n;
    put_procedures(&w);
    size_t size = size_of(&w.head);
    struct head *entry = calloc(1, size);
    if (!entry)
        return;
    w.ranges = (void *)(entry + 1);
    w.procedures = (void *)(w.ranges + w.head.n_ranges);
    w.parts = (void *)(w.procedures + w.head.n_procedures);
    w.strings = (char *)(w.parts + w.head.n_parts);
    for (uint32_t i = 0; i < p->ranges.n; i++) {
        const struct cs_range *r = &p->ranges.range[i];
        w.ranges[i] =
            (struct entry_range){relative(&w, r->low), (uint32_t)(r->high - r->low), r->id, r->parent};
    }
    put_procedures(&w);
    *entry = w.head;
    entry->sum = sum_of(entry, size);
    put_file(path, entry, size);
    free(entry);
}
