/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be worked out again at any time: entries found by a key, of one kind each, in one folder. An entry
 * is there whole or not at all (temporary file, rename). One that is damaged, of another user (but root), or
 * of another key whose hash is the same is a miss. Failures cost the user time only, so none is reported.
 *
 * The folder is the caller's or, by default, the user's: $CYCLESCOPE_CACHE, else $XDG_CACHE_HOME/cyclescope,
 * else ~/.cache/cyclescope. Empty or without a home: every look-up misses.
 *
 *     struct cs_cache cache;
 *     cs_cache_init(&cache, NULL, "procedures", 256 << 20);
 *     struct cs_cache_entry entry;
 *     if (cs_cache_load(&cache, "build-id 12ab, 4096 bytes", &entry)) { use(entry.bytes, entry.n);
 *                                                                       cs_cache_entry_fini(&entry); }
 *     else cs_cache_save(&cache, "build-id 12ab, 4096 bytes", &(struct iovec){bytes, n}, 1);
 *
 * The key holds all that the entry depends on, the version of the code that makes it too. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct cs_cache {
    char folder[3072]; /* "" = there is none */
    char kind[32];     /* ends the files' names */
    uint64_t bytes_max;
    bool for_others; /* entries may be read by everybody: set it for a folder inside a store */
};

/* `folder` NULL = the user's; it is made by the first save. Where entries of this kind hold more than
 * `bytes_max` (now and then looked at), those that were not used for longest go. */
void cs_cache_init(struct cs_cache *cache, const char *folder, const char *kind, uint64_t bytes_max);

struct cs_cache_entry {
    const void *bytes; /* aligned to 16 */
    size_t n;
    void *map; /* not the caller's */
    size_t map_bytes;
};

/* True and fills `entry`, which the caller finishes; false where there is none. */
bool cs_cache_load(const struct cs_cache *cache, const char *key, struct cs_cache_entry *entry);
void cs_cache_entry_fini(struct cs_cache_entry *entry);
/* Writes the entry of these parts. False when it wasn't written. */
bool cs_cache_save(const struct cs_cache *cache, const char *key, const struct iovec *parts, unsigned n);

/* The user's folder, made if need be; -ENOENT when there is to be none. For those that have not moved to
 * keyed entries yet, as is cs_cache_put: it writes the file of these parts, for all to read where `others`. */
int cs_cache_folder(char *path, size_t capacity);
bool cs_cache_put(const char *path, const struct iovec *parts, unsigned n, bool others);
