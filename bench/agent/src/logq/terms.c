// SPDX-License-Identifier: GPL-2.0-or-later
// The table of all terms: open addressing, the next slot on a collision.
#include "logq.h"
#include <stdlib.h>
#include <string.h>

void terms_open(Terms *terms)
{
    memset(terms, 0, sizeof *terms);
    terms->mask = 4095;
    terms->slots = calloc(terms->mask + 1, sizeof *terms->slots);
    if (!terms->slots)
        abort();
}

void terms_close(Terms *terms)
{
    for (uint32_t i = 0; i < terms->count; i++)
        free(terms->terms[i].postings.lines);
    free(terms->terms);
    free(terms->slots);
}

static uint32_t hash_of(const char *name, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash ^ hash >> 15;
}

// The slot of a name, or the free one where it belongs.
static uint32_t slot_of(const Terms *terms, const char *name, size_t length, uint32_t hash)
{
    uint32_t slot = hash & terms->mask;
    while (terms->slots[slot]) {
        const Term *term = &terms->terms[terms->slots[slot] - 1];
        if (term->hash == hash && memcmp(term->name, name, length) == 0 && !term->name[length])
            break;
        slot = (slot + 1) & terms->mask;
    }
    return slot;
}

static void grow(Terms *terms)
{
    uint32_t mask = 2 * terms->mask + 1;
    uint32_t *slots = calloc(mask + 1, sizeof *slots);
    if (!slots)
        abort();
    for (uint32_t i = 0; i < terms->count; i++) {
        uint32_t slot = terms->terms[i].hash & mask;
        while (slots[slot])
            slot = (slot + 1) & mask;
        slots[slot] = i + 1;
    }
    free(terms->slots);
    terms->slots = slots;
    terms->mask = mask;
}

Term *terms_find(const Terms *terms, const char *name, size_t length)
{
    if (length > TERM_LENGTH)
        length = TERM_LENGTH;
    uint32_t number = terms->slots[slot_of(terms, name, length, hash_of(name, length))];
    return number ? &terms->terms[number - 1] : NULL;
}

Term *terms_add(Terms *terms, const char *name, size_t length)
{
    if (length > TERM_LENGTH)
        length = TERM_LENGTH;
    uint32_t hash = hash_of(name, length), slot = slot_of(terms, name, length, hash);
    if (terms->slots[slot])
        return &terms->terms[terms->slots[slot] - 1];
    if (terms->count == terms->room) {
        terms->room = terms->room ? 2 * terms->room : 1024;
        terms->terms = realloc(terms->terms, terms->room * sizeof *terms->terms);
        if (!terms->terms)
            abort();
    }
    Term *term = &terms->terms[terms->count++];
    memset(term, 0, sizeof *term);
    memcpy(term->name, name, length);
    term->hash = hash;
    terms->slots[slot] = terms->count;
    if (terms->count > terms->mask / 2)
        grow(terms);
    return term;
}

void postings_add(Postings *postings, uint32_t line)
{
    if (postings->count && postings->lines[postings->count - 1] == line)
        return;
    if (postings->count == postings->room) {
        postings->room = postings->room ? 2 * postings->room : 4;
        postings->lines = realloc(postings->lines, postings->room * sizeof *postings->lines);
        if (!postings->lines)
            abort();
    }
    postings->lines[postings->count++] = line;
}
