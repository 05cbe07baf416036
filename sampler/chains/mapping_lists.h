/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which process has what mapped, where the handler finds it (kernel_tables.h). A list is written once and then
 * named by its process's word; a changed process gets another list. One owner writes; the kernel copies a parent's
 * word to a child.
 *
 * Invariant: a list's cells are used again only when no word named it in two sweeps with a grace period between them. A
 * fork handler that had read it before the first has written its child's word before the second. */
#pragma once

#include "sampler/chains/extents.h"
#include "sampler/chains/kernel_tables.h"

#include <stdbool.h>

struct cs_chain_list {
    struct cs_extent cells;
    bool named, doomed; /* doomed: no word named it at the sweep before */
};

struct cs_chain_lists {
    uint64_t *words;                   /* CS_CHAIN_WORDS */
    struct cs_chain_mapping *mappings; /* shared with the handler; cell 0 is never a list */
    struct cs_extents cells;
    struct cs_chain_list *lists;
    size_t n, capacity;
    uint32_t n_cells;
    uint64_t refused; /* lists that found no room */
};

int cs_chain_lists_init(struct cs_chain_lists *lists, uint64_t *words, struct cs_chain_mapping *mappings,
                        uint32_t n_mappings);
void cs_chain_lists_fini(struct cs_chain_lists *lists);

/* From now on that process, in that generation, has these mappings: ascending, disjoint; what is above
 * CS_CHAIN_MAPPINGS_MOST is left out. 0; -ENOSPC, -ENOMEM: then its word is void. */
int cs_chain_lists_put(struct cs_chain_lists *lists, uint32_t pid, uint32_t generation,
                       const struct cs_chain_mapping *mappings, uint32_t n);
/* Is there a word of that PID, of whatever generation? */
bool cs_chain_lists_has(const struct cs_chain_lists *lists, uint32_t pid);
/* Do the words of both name one list, or is there neither? */
bool cs_chain_lists_share(const struct cs_chain_lists *lists, uint32_t pid, uint32_t other);
/* Drops words of processes that `lives` denies, frees what no word named twice. Call after a grace period. */
void cs_chain_lists_sweep(struct cs_chain_lists *lists, bool (*lives)(void *arg, uint32_t pid), void *arg);
/* Less than half of the room is left: sweep soon. */
bool cs_chain_lists_are_short(const struct cs_chain_lists *lists);
