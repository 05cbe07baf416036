/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/schedule/cache.h"
#include "store/base/array.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { BYTES_MAX = 64 << 20 };
#define STEPS_VERSION                                                                                        \
    4 /* of what schedule.c makes of a time line, and of keys: older answers are of no use */
#define MAGIC UINT64_C(0x3164656863737363) /* version 1 of this layout */

struct record {
    uint64_t magic, key, sum; /* sum of the steps that follow */
    uint64_t n;
};

struct entry {
    uint64_t key;
    size_t at; /* in steps */
    uint32_t n;
    bool own, saved;
};

struct schedule_cache {
    char *file;
    uint64_t seed;
    bool damaged; /* the file is to be written anew */
    CS_ARRAY(struct entry) entries;
    CS_ARRAY(struct cs_schedule_step) steps;
    uint32_t *table; /* open addressing: 1 + index of an entry */
    size_t slots;    /* a power of two, at least twice the entries */
};

static uint64_t key_of(const struct schedule_cache *cache, const struct cs_schedule_path *path)
{
    uint64_t key = cache->seed + path->closed;
    for (size_t i = 0; i < path->n; i++)
        key = XXH3_64bits_withSeed(path->ops[i].bytes, path->ops[i].length, key);
    return key;
}

/* The slot of that path, or a free one. */
static size_t slot_of(const struct schedule_cache *cache, uint64_t key, size_t n)
{
    size_t slot = key & (cache->slots - 1);
    for (; cache->table[slot]; slot = (slot + 1) & (cache->slots - 1)) {
        const struct entry *one = &cache->entries.at[cache->table[slot] - 1];
        if (one->key == key && one->n == n)
            break;
    }
    return slot;
}

static bool grow(struct schedule_cache *cache)
{
    size_t slots = cache->slots ? 2 * cache->slots : 1024;
    uint32_t *fresh = calloc(slots, sizeof *fresh);
    if (!fresh)
        return false;
    free(cache->table);
    cache->table = fresh;
    cache->slots = slots;
    for (size_t i = 0; i < cache->entries.n; i++)
        cache->table[slot_of(cache, cache->entries.at[i].key, cache->entries.at[i].n)] = (uint32_t)i + 1;
    return true;
}

/* What is there already stays. */
static void add(struct schedule_cache *cache, uint64_t key, const void *steps, size_t n, bool own, bool saved)
{
    if (2 * (cache->entries.n + 1) > cache->slots && !grow(cache))
        return;
    size_t slot = slot_of(cache, key, n);
    if (cache->table[slot] || cs_array_reserve(&cache->steps, cache->steps.n + n) < 0)
        return;
    struct entry *one = cs_array_add(&cache->entries);
    if (!one)
        return;
    *one = (struct entry){key, cache->steps.n, (uint32_t)n, own, saved};
    memcpy(cache->steps.at + cache->steps.n, steps, n * sizeof *cache->steps.at);
    cache->steps.n += n;
    cache->table[slot] = (uint32_t)cache->entries.n;
}

/* Up to the first record that is none of ours. */
static void read_records(struct schedule_cache *cache, const char *bytes, size_t length)
{
    struct record r;
    size_t at = 0;
    while (at + sizeof r <= length) {
        memcpy(&r, bytes + at, sizeof r);
        size_t size = r.n * sizeof(struct cs_schedule_step);
        if (r.magic != MAGIC || r.n > CS_SCHEDULE_PATH_MAX || at + sizeof r + size > length ||
            XXH3_64bits(bytes + at + sizeof r, size) != r.sum)
            break;
        add(cache, r.key, bytes + at + sizeof r, r.n, true, true);
        at += sizeof r + size;
    }
    cache->damaged = at < length;
}

static void load(struct schedule_cache *cache)
{
    int fd = open(cache->file, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *bytes = NULL;
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size < BYTES_MAX &&
        (bytes = malloc((size_t)st.st_size))) {
        ssize_t n = read(fd, bytes, (size_t)st.st_size);
        read_records(cache, bytes, n > 0 ? (size_t)n : 0);
    }
    free(bytes);
    close(fd);
}

struct schedule_cache *schedule_cache_open(const char *file, const char *model)
{
    struct schedule_cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return NULL;
    cache->seed = XXH3_64bits(model, strlen(model)) + STEPS_VERSION;
    cache->file = file ? strdup(file) : NULL;
    if (cache->file)
        load(cache);
    return cache;
}

bool schedule_cache_get(struct schedule_cache *cache, const struct cs_schedule_path *path,
                        struct cs_schedule_step *steps, bool *own)
{
    uint32_t found = cache && cache->slots ? cache->table[slot_of(cache, key_of(cache, path), path->n)] : 0;
    if (!found)
        return false;
    const struct entry *one = &cache->entries.at[found - 1];
    memcpy(steps, cache->steps.at + one->at, one->n * sizeof *steps);
    *own = one->own;
    return true;
}

void schedule_cache_put(struct schedule_cache *cache, const struct cs_schedule_path *path,
                        const struct cs_schedule_step *steps, bool own)
{
    if (cache)
        add(cache, key_of(cache, path), steps, path->n, own, false);
}

/* A damaged file is replaced; one append is one write, so that two writers don't mix. */
void schedule_cache_flush(struct schedule_cache *cache)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = cache && cache->file ? open_memstream(&text, &length) : NULL;
    if (!out)
        return;
    for (size_t i = 0; i < cache->entries.n; i++) {
        struct entry *one = &cache->entries.at[i];
        const struct cs_schedule_step *steps = cache->steps.at + one->at;
        if (!one->own || (one->saved && !cache->damaged))
            continue;
        struct record r = {MAGIC, one->key, XXH3_64bits(steps, one->n * sizeof *steps), one->n};
        fwrite(&r, sizeof r, 1, out);
        fwrite(steps, sizeof *steps, one->n, out);
        one->saved = true;
    }
    int fd =
        fclose(out) == 0 && length
            ? open(cache->file, O_WRONLY | O_CREAT | O_CLOEXEC | (cache->damaged ? O_TRUNC : O_APPEND), 0600)
            : -1;
    if (fd >= 0) {
        (void)!write(fd, text, length);
        close(fd);
        cache->damaged = false;
    }
    free(text);
}

void schedule_cache_close(struct schedule_cache *cache)
{
    if (!cache)
        return;
    schedule_cache_flush(cache);
    cs_array_free(&cache->entries);
    cs_array_free(&cache->steps);
    free(cache->table);
    free(cache->file);
    free(cache);
}
