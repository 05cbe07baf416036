/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/schedule/cache.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { BYTES_MAX = 64 << 20 };
#define STEPS_VERSION 2 /* of what schedule.c makes of a time line: older answers are of no use */
#define MAGIC UINT64_C(0x3164656863737363) /* version 1 of this layout */

struct record {
    uint64_t magic, key, sum; /* sum of the steps that follow */
    uint64_t n;
};

struct schedule_cache {
    char *file;
    uint64_t seed;
    char *bytes; /* the whole file as it was */
    size_t length;
    char *fresh; /* what will be appended */
    size_t fresh_length;
    FILE *out; /* memory stream over `fresh` */
};

static uint64_t key_of(const struct schedule_cache *cache, const struct cs_schedule_path *path)
{
    uint64_t key = cache->seed + path->closed;
    for (size_t i = 0; i < path->n; i++)
        key = XXH3_64bits_withSeed(path->ops[i].text, strlen(path->ops[i].text), key);
    return key;
}

struct schedule_cache *schedule_cache_open(const char *file, const char *model)
{
    struct schedule_cache *cache = file ? calloc(1, sizeof *cache) : NULL;
    if (!cache)
        return NULL;
    cache->file = strdup(file);
    cache->seed = XXH3_64bits(model, strlen(model)) + STEPS_VERSION;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size < BYTES_MAX &&
        (cache->bytes = malloc((size_t)st.st_size))) {
        ssize_t n = read(fd, cache->bytes, (size_t)st.st_size);
        cache->length = n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    cache->out = open_memstream(&cache->fresh, &cache->fresh_length);
    return cache;
}

bool schedule_cache_get(struct schedule_cache *cache, const struct cs_schedule_path *path,
                        struct cs_schedule_step *steps)
{
    if (!cache)
        return false;
    uint64_t key = key_of(cache, path);
    struct record r;
    for (size_t at = 0; at + sizeof r <= cache->length; at += sizeof r + r.n * sizeof *steps) {
        memcpy(&r, cache->bytes + at, sizeof r);
        if (r.magic != MAGIC || r.n > CS_SCHEDULE_PATH_MAX ||
            at + sizeof r + r.n * sizeof *steps > cache->length)
            return false;
        if (r.key != key || r.n != path->n)
            continue;
        const char *body = cache->bytes + at + sizeof r;
        if (XXH3_64bits(body, r.n * sizeof *steps) != r.sum)
            return false;
        memcpy(steps, body, r.n * sizeof *steps);
        return true;
    }
    return false;
}

void schedule_cache_put(struct schedule_cache *cache, const struct cs_schedule_path *path,
                        const struct cs_schedule_step *steps)
{
    if (!cache || !cache->out)
        return;
    struct record r = {MAGIC, key_of(cache, path), XXH3_64bits(steps, path->n * sizeof *steps), path->n};
    fwrite(&r, sizeof r, 1, cache->out);
    fwrite(steps, sizeof *steps, path->n, cache->out);
}

/* A file that doesn't begin as ours is replaced; one append is one write, so that two writers don't mix. */
void schedule_cache_flush(struct schedule_cache *cache)
{
    if (!cache || !cache->out || fflush(cache->out) || cache->fresh_length == 0)
        return;
    uint64_t magic = 0;
    if (cache->length >= sizeof magic)
        memcpy(&magic, cache->bytes, sizeof magic);
    int fd = open(cache->file, O_WRONLY | O_CREAT | O_CLOEXEC | (magic == MAGIC ? O_APPEND : O_TRUNC), 0600);
    if (fd < 0)
        return;
    (void)!write(fd, cache->fresh, cache->fresh_length);
    close(fd);
    fclose(cache->out);
    free(cache->fresh);
    cache->fresh = NULL;
    cache->fresh_length = 0;
    cache->out = open_memstream(&cache->fresh, &cache->fresh_length);
}

void schedule_cache_close(struct schedule_cache *cache)
{
    if (!cache)
        return;
    schedule_cache_flush(cache);
    if (cache->out)
        fclose(cache->out);
    free(cache->fresh);
    free(cache->bytes);
    free(cache->file);
    free(cache);
}
