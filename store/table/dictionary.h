/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings numbered 0, 1, 2, ... in the order of their first appearance. Pointers to them stay valid until
 * _fini. For store/ only. Invariant: no two strings are equal. */
#pragma once

#include "store/base/map.h"

#include <stddef.h>
#include <stdint.h>

struct cs_dictionary_chunk;

struct cs_dictionary {
    const char **strings;
    uint32_t *ranks; /* position of each string in strcmp order, see cs_dictionary_rank */
    size_t n, capacity;
    struct cs_map by_text;
    struct cs_dictionary_chunk *chunks;
    size_t n_ranked; /* strings that `ranks` is right for */
};

/* Index of the string of `length` bytes, added if new; -ENOMEM. */
int64_t cs_dictionary_add(struct cs_dictionary *dictionary, const char *text, size_t length);
/* Brings `ranks` up to date. Never fails: the space was taken when strings were added. */
void cs_dictionary_rank(struct cs_dictionary *dictionary);
void cs_dictionary_fini(struct cs_dictionary *dictionary);
