/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contexts of a store, added up over its profiles: a tree for each label, or one for all. Thousands of nodes name the
 * same place of an image: a report asks an image once for each place. Not thread-safe. */
#pragma once

#include "store/contexts.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_calls_wanted { /* NULL = all */
    const char *event;   /* never NULL */
    const char *label, *epoch;
    bool keys;    /* for cs_calls_node */
    bool inlines; /* inlined functions are frames: reads debug information */
    bool
        plain_rare; /* but of images with less than a thousandth of the samples it doesn't: a store of a machine has hundreds */
    bool by_label; /* the outermost frames are the labels ("process"), or this where there is none */
#define CS_CALLS_UNLABELLED "[unlabelled]"
};

struct cs_chain_tree {
    char label[64];
    struct cs_contexts *contexts; /* summed */
    uint32_t *place;              /* of each node: its number in `places`, 0 of the root */
};

struct cs_chains {
    struct cs_chain_tree *trees; /* one, of label "", unless wanted.by_label */
    size_t n, capacity;
    struct cs_contexts *places; /* each (image, offset) once, below the root */
};

/* `label`, `epoch`, `event` and `by_label` of `wanted` choose. With plain_rare a place has the samples of those chains that enter
 * its image there. After a failure there is nothing to close. */
int cs_chains_open(struct cs_chains *chains, struct cs_store *store, const struct cs_calls_wanted *wanted,
                   struct cs_error *err);
void cs_chains_close(struct cs_chains *chains);
