/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/table/dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Strings live in chunks, so that growing never moves one. */
struct cs_dictionary_chunk {
    struct cs_dictionary_chunk *next;
    size_t used, size;
    char text[];
};

#define CHUNK_BYTES 4000u

static char *chunk_room(struct cs_dictionary *dictionary, size_t n)
{
    struct cs_dictionary_chunk *chunk = dictionary->chunks;
    if (!chunk || chunk->size - chunk->used < n) {
        size_t size = n > CHUNK_BYTES ? n : dictionary->chunks ? CHUNK_BYTES : 240;
        if (size < n)
            size = n;
        chunk = malloc(sizeof *chunk + size);
        if (!chunk)
            return NULL;
        *chunk = (struct cs_dictionary_chunk){.next = dictionary->chunks, .size = size};
        dictionary->chunks = chunk;
    }
    char *text = chunk->text + chunk->used;
    chunk->used += n;
    return text;
}

static size_t slot_of(const struct cs_dictionary *dictionary, const char *text, size_t length)
{
    size_t slot = (size_t)XXH3_64bits(text, length) & (dictionary->n_slots - 1);
    for (;; slot = (slot + 1) & (dictionary->n_slots - 1)) {
        uint32_t taken = dictionary->slots[slot];
        if (!taken)
            return slot;
        const char *there = dictionary->strings[taken - 1];
        if (strncmp(there, text, length) == 0 && there[length] == '\0')
            return slot;
    }
}

static int grow(struct cs_dictionary *dictionary)
{
    size_t capacity = dictionary->capacity ? dictionary->capacity * 2 : 8;
    const char **strings = realloc(dictionary->strings, capacity * sizeof *strings);
    if (!strings)
        return -ENOMEM;
    dictionary->strings = strings;
    uint32_t *ranks = realloc(dictionary->ranks, capacity * sizeof *ranks);
    if (!ranks)
        return -ENOMEM;
    dictionary->ranks = ranks;
    uint32_t *slots = calloc(capacity * 2, sizeof *slots);
    if (!slots)
        return -ENOMEM;
    free(dictionary->slots);
    dictionary->slots = slots;
    dictionary->n_slots = capacity * 2;
    dictionary->capacity = capacity;
    for (size_t i = 0; i < dictionary->n; i++)
        slots[slot_of(dictionary, strings[i], strlen(strings[i]))] = (uint32_t)i + 1;
    return 0;
}

int64_t cs_dictionary_add(struct cs_dictionary *dictionary, const char *text, size_t length)
{
    if (dictionary->n == dictionary->capacity && (dictionary->n >= UINT32_MAX / 4 || grow(dictionary) < 0))
        return -ENOMEM;
    size_t slot = slot_of(dictionary, text, length);
    if (dictionary->slots[slot])
        return (int64_t)dictionary->slots[slot] - 1;
    char *copy = chunk_room(dictionary, length + 1);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, text, length);
    copy[length] = '\0';
    dictionary->strings[dictionary->n] = copy;
    dictionary->slots[slot] = (uint32_t)++dictionary->n;
    return (int64_t)dictionary->n - 1;
}

static int by_string(const void *a, const void *b, void *arg)
{
    const char *const *strings = arg;
    return strcmp(strings[*(const uint32_t *)a], strings[*(const uint32_t *)b]);
}

void cs_dictionary_rank(struct cs_dictionary *dictionary)
{
    if (dictionary->n_ranked == dictionary->n)
        return;
    /* Sort the indices in `ranks`, then invert the permutation in place, marking what is done in the top bit
     * (indices stay below UINT32_MAX / 2). */
    uint32_t *ranks = dictionary->ranks;
    size_t n = dictionary->n;
    for (size_t i = 0; i < n; i++)
        ranks[i] = (uint32_t)i;
    qsort_r(ranks, n, sizeof *ranks, by_string, dictionary->strings);
    const uint32_t done = 0x80000000u;
    for (size_t i = 0; i < n; i++) {
        uint32_t position = (uint32_t)i, string = ranks[i];
        while (!(string & done)) {
            uint32_t next = ranks[string];
            ranks[string] = position | done;
            position = string;
            string = next;
        }
    }
    for (size_t i = 0; i < n; i++)
        ranks[i] &= ~done;
    dictionary->n_ranked = n;
}

void cs_dictionary_fini(struct cs_dictionary *dictionary)
{
    while (dictionary->chunks) {
        struct cs_dictionary_chunk *chunk = dictionary->chunks;
        dictionary->chunks = chunk->next;
        free(chunk);
    }
    free(dictionary->strings);
    free(dictionary->ranks);
    free(dictionary->slots);
    *dictionary = (struct cs_dictionary){0};
}
