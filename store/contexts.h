/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calling contexts: a tree of frames, outermost first, with the samples that were taken in each. The profile of
 * one (event, label): store/FORMAT.md, "Contexts". An exact calling-context tree (Ammons, Ball, Larus, PLDI 1997)
 * with a bound.
 *
 *     struct cs_contexts *tree = cs_contexts_open();
 *     uint32_t node = CS_CONTEXTS_ROOT;                     each negative result is -ENOMEM
 *     for (each frame, outermost first)
 *         node = (uint32_t)cs_contexts_child(tree, node, (uint32_t)cs_contexts_image(tree, id), offset);
 *     cs_contexts_add(tree, node, samples);
 *     struct cs_table *table = cs_table_open(&cs_schema_contexts);
 *     cs_contexts_put(tree, table);
 *     cs_store_merge(store, &cs_contexts_profile, &head, table, err);
 *
 * **Offsets.** The innermost frame and one that a signal or an interrupt stopped: where the thread was. A frame that
 * called: an address within the call instruction (return address less one), so that name and line are the call's
 * own. The writer of a profile subtracts, because only an unwinder knows a signal frame. A method that is known by
 * its name alone (JIT, interpreter: "JIT" in FORMAT.md) has the name's offset. Kernel and user: no difference.
 *
 * Invariants: node 0 is the root, which is no frame. A parent's number is below its children's. A child is unique by
 * (parent, image, offset). Nothing recurses: chains may be as deep as a file has rows. Not thread-safe.
 */
#pragma once

#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

#define CS_CONTEXTS_ROOT 0u
/* A stored profile of contexts has at most this many nodes: see cs_contexts_fold. Some 10 bytes each on disk. */
#define CS_CONTEXTS_NODES_MAX 65536u

/* The pseudo-image that they are stored under, for every event and label. */
extern const struct cs_store_image cs_contexts_profile;

struct cs_context {
    uint64_t offset;
    uint64_t self,
        total;    /* samples in this frame itself; and in what it called too (after cs_contexts_sum) */
    uint64_t key; /* its number in files: XXH3-64 of the parent's and its own frame */
    uint32_t parent, first_child, next_sibling; /* 0 = none */
    uint32_t image;                             /* of cs_contexts_image */
};

struct cs_contexts;

struct cs_contexts *cs_contexts_open(void); /* NULL when memory is short */
void cs_contexts_close(struct cs_contexts *tree);

/* The number of an image's id; that of "" is 0: what was folded. -ENOMEM. */
int64_t cs_contexts_image(struct cs_contexts *tree, const char *id);
const char *cs_contexts_image_id(const struct cs_contexts *tree, uint32_t image);
uint32_t cs_contexts_images(const struct cs_contexts *tree); /* numbers are below it */

/* The child of `parent` for that frame, made if new. -ENOMEM. */
int64_t cs_contexts_child(struct cs_contexts *tree, uint32_t parent, uint32_t image, uint64_t offset);
void cs_contexts_add(struct cs_contexts *tree, uint32_t node, uint64_t samples); /* saturating */

uint32_t cs_contexts_count(const struct cs_contexts *tree); /* nodes with the root: numbers are below it */
/* Valid until the next child, take or fold. */
const struct cs_context *cs_contexts_at(const struct cs_contexts *tree, uint32_t node);
/* Works out every `total`; what follows an add, take or fold is stale until then. Returns the root's. */
uint64_t cs_contexts_sum(struct cs_contexts *tree);
/* The node after `node` in a walk of the subtree of `top`, parents before children; 0 = the end. `depth` (may be
 * NULL) goes along: 0 at `top`. */
uint32_t cs_contexts_next(const struct cs_contexts *tree, uint32_t top, uint32_t node, unsigned *depth);

/* Adds the rows of a table of cs_schema_contexts, or of cs_schema_stacks (whose callers are return addresses: they
 * become calls). Rows whose parent is missing go below a frame of image "" at the root: no sample is lost. 0, -ENOMEM
 * (the tree then holds a part), or -EINVAL where it is neither. */
int cs_contexts_take(struct cs_contexts *tree, struct cs_table *table);
/* Whether a profile that a walk found holds call chains, and then of which event: imports name the event of a profile of
 * stacks with "-stacks" behind. */
bool cs_contexts_of(const struct cs_store_profile_ref *ref, char event[64]);
/* Adds the tree to a table of cs_schema_contexts. 0 or -ENOMEM. */
int cs_contexts_put(const struct cs_contexts *tree, struct cs_table *table);

/* Where there are more than `most` nodes: keeps the (most - 1) / 2 with the greatest totals (among equals the less deep,
 * then the smaller key); the other children of each become one child of image "", offset 0, with all their
 * samples. So at most `most` are left, every node left has the total that it had, and what is done depends on the tree
 * alone. 0 or -ENOMEM (the tree is as it was). */
int cs_contexts_fold(struct cs_contexts *tree, uint32_t most);
/* The same for a table of cs_schema_contexts. */
int cs_contexts_fold_table(struct cs_table *table, uint32_t most);
