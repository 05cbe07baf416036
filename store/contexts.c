/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree: an arena of nodes, and a hash table that finds a child by the key it would have. A key that two frames
 * share (one in 2^64) is resolved by comparing the frames. */
#include "store/contexts_tree.h"

#include "store/base/array.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define NODES_MAX (1u << 30) /* of a tree: numbers stay within 32 bits */

const struct cs_store_image cs_contexts_profile = {
    .id = "contexts", .kind = CS_IMAGE_CONTEXTS, .path = "[contexts]", .build_id = ""};

/* The number in files of the frame (image id, offset) below the node with the number `parent`. */
static uint64_t key_of(uint64_t parent, const char *image_id, uint64_t offset)
{
    uint8_t bytes[8 + CS_IMAGE_ID_MAX + 8];
    size_t n = strnlen(image_id, CS_IMAGE_ID_MAX - 1);
    for (unsigned i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(parent >> 8 * i);
        bytes[8 + n + 1 + i] = (uint8_t)(offset >> 8 * i);
    }
    memcpy(bytes + 8, image_id, n);
    bytes[8 + n] = 0;
    uint64_t key = XXH3_64bits(bytes, 8 + n + 1 + 8);
    return key ? key : 1; /* 0 is the root */
}

struct cs_contexts *cs_contexts_open(void)
{
    struct cs_contexts *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    if (cs_array_reserve_in(t->nodes, 64, t->capacity) < 0 || cs_dictionary_add(&t->images, "", 0) < 0) {
        cs_contexts_close(t);
        return NULL;
    }
    t->nodes[0] = (struct cs_context){0};
    t->n = 1;
    return t;
}

void cs_contexts_close(struct cs_contexts *t)
{
    if (!t)
        return;
    free(t->nodes);
    cs_map_fini(&t->by_key);
    cs_dictionary_fini(&t->images);
    free(t);
}

int64_t cs_contexts_image(struct cs_contexts *t, const char *id)
{
    return cs_dictionary_add(&t->images, id, strnlen(id, CS_IMAGE_ID_MAX - 1));
}

const char *cs_contexts_image_id(const struct cs_contexts *t, uint32_t image)
{
    return image < t->images.n ? t->images.strings[image] : "";
}

uint32_t cs_contexts_images(const struct cs_contexts *t)
{
    return (uint32_t)t->images.n;
}

int64_t cs_contexts_child(struct cs_contexts *t, uint32_t parent, uint32_t image, uint64_t offset)
{
    uint64_t key = key_of(t->nodes[parent].key, t->images.strings[image], offset);
    uint32_t i;
    for (size_t step = 0; (i = cs_map_next(&t->by_key, key, &step)) != CS_MAP_NONE;) {
        const struct cs_context *c = &t->nodes[i];
        if (c->key == key && c->parent == parent && c->image == image && c->offset == offset)
            return i;
    }
    if (t->n >= NODES_MAX || cs_array_room(t->nodes, t->n, t->capacity) < 0 ||
        cs_map_add(&t->by_key, key, t->n) < 0)
        return -ENOMEM;
    t->nodes[t->n] = (struct cs_context){.offset = offset,
                                         .key = key,
                                         .parent = parent,
                                         .image = image,
                                         .next_sibling = t->nodes[parent].first_child};
    t->nodes[parent].first_child = t->n;
    return t->n++;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

void cs_contexts_add(struct cs_contexts *t, uint32_t node, uint64_t samples)
{
    t->nodes[node].self = plus(t->nodes[node].self, samples);
}

uint32_t cs_contexts_count(const struct cs_contexts *t)
{
    return t->n;
}

const struct cs_context *cs_contexts_at(const struct cs_contexts *t, uint32_t node)
{
    assert(node < t->n);
    return &t->nodes[node];
}

uint64_t cs_contexts_sum(struct cs_contexts *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        t->nodes[i].total = t->nodes[i].self;
    for (uint32_t i = t->n; --i > 0;)
        t->nodes[t->nodes[i].parent].total = plus(t->nodes[t->nodes[i].parent].total, t->nodes[i].total);
    return t->nodes[0].total;
}

uint32_t cs_contexts_next(const struct cs_contexts *t, uint32_t top, uint32_t node, unsigned *depth)
{
    if (t->nodes[node].first_child) {
        if (depth)
            ++*depth;
        return t->nodes[node].first_child;
    }
    while (node != top && !t->nodes[node].next_sibling) {
        node = t->nodes[node].parent;
        if (depth)
            --*depth;
    }
    return node == top ? 0 : t->nodes[node].next_sibling;
}
