/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/table/dictionary.h"

#include "store/base/array.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static int grow(struct cs_dictionary *dictionary)
{
    size_t capacity = dictionary->capacity ? dictionary->capacity * 2 : 8;
    if (cs_array_resize(dictionary->strings, capacity) < 0 ||
        cs_array_resize(dictionary->ranks, capacity) < 0)
        return -ENOMEM;
    dictionary->capacity = capacity;
    return 0;
}

int64_t cs_dictionary_add(struct cs_dictionary *dictionary, const char *text, size_t length)
{
    if (dictionary->n == dictionary->capacity && (dictionary->n >= UINT32_MAX / 4 || grow(dictionary) < 0))
        return -ENOMEM;
    uint64_t hash = XXH3_64bits(text, length);
    uint32_t i;
    for (size_t step = 0; (i = cs_map_next(&dictionary->by_text, hash, &step)) != CS_MAP_NONE;)
        if (strncmp(dictionary->strings[i], text, length) == 0 && dictionary->strings[i][length] == '\0')
            return i;
    char *copy = chunk_room(dictionary, length + 1);
    if (!copy || cs_map_add(&dictionary->by_text, hash, (uint32_t)dictionary->n) < 0)
        return -ENOMEM;
    memcpy(copy, text, length);
    copy[length] = '\0';
    dictionary->strings[dictionary->n] = copy;
    return (int64_t)dictionary->n++;
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
    assert(n < done);
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
    cs_map_fini(&dictionary->by_text);
    *dictionary = (struct cs_dictionary){0};
}
