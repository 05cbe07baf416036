/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/schedule/cache.h"
#include "store/base/array.h"
#include "store/base/map.h"

#include <assert.h>
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
    9 /* of what schedule.c makes of a time line, and of keys: older answers are of no use */
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
    struct cs_map map; /* entries by key and length */
};

static uint64_t key_of(const struct schedule_cache *cache, const struct cs_schedule_path *path)
{
    uint64_t key = cache->seed + path->closed;
    for (size_t i = 0; i < path->n; i++)
        key = XXH3_64bits_withSeed(path->ops[i].bytes, path->ops[i].length, key);
    return key;
}

static const struct entry *find(const struct schedule_cache *cache, uint64_t key, size_t n)
{
    uint32_t i;
    for (size_t step = 0; (i = cs_map_next(&cache->map, key, &step)) != CS_MAP_NONE;)
        if (cache->entries.at[i].key == key && cache->entries.at[i].n == n)
            return &cache->entries.at[i];
    return NULL;
}

/* What is there already stays. */
static void add(struct schedule_cache *cache, uint64_t key, const void *steps, size_t n, bool own, bool saved)
{
    if (find(cache, key, n) || cs_array_reserve(&cache->steps, cache->steps.n + n) < 0 ||
        cs_array_reserve(&cache->entries, cache->entries.n + 1) < 0 ||
        cs_map_add(&cache->map, key, (uint32_t)cache->entries.n) < 0)
        return;
    cache->entries.at[cache->entries.n++] = (struct entry){key, cache->steps.n, (uint32_t)n, own, saved};
    memcpy(cache->steps.at + cache->steps.n, steps, n * sizeof *cache->steps.at);
    cache->steps.n += n;
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
    const struct entry *one = cache ? find(cache, key_of(cache, path), path->n) : NULL;
    if (!one)
        return false;
    memcpy(steps, cache->steps.at + one->at, one->n * sizeof *steps);
    *own = one->own;
    return true;
}

void schedule_cache_put(struct schedule_cache *cache, const struct cs_schedule_path *path,
                        const struct cs_schedule_step *steps, bool own)
{
    assert(path->n <= CS_SCHEDULE_PATH_MAX);
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
    cs_map_fini(&cache->map);
    free(cache->file);
    free(cache);
}
