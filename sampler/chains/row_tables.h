/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables of images, where the handler finds them (kernel_tables.h). They are loaded when they are asked for, and
 * dropped when they weren't used for long and memory is short. Memory comes in segments, made and given back through
 * callbacks. One owner.
 *
 * Invariant: a table's words are used again only after a grace period in which its image was absent. */
#pragma once

#include "sampler/chains/extents.h"
#include "sampler/chains/kernel_tables.h"

#include <stdbool.h>

struct cs_chain_segments {
    void *arg;
    int (*make)(void *arg, uint32_t number); /* zeroed; 0 or -errno */
    void (*drop)(void *arg, uint32_t number);
    struct cs_chain_segment *(*open)(void *arg, uint32_t number); /* for writing; NULL: failed */
    void (*close)(void *arg, struct cs_chain_segment *segment);
};

struct cs_chain_table {
    struct cs_extent words; /* n = 0: none */
    bool going;             /* absent since the last sweep */
};

struct cs_chain_tables {
    struct cs_chain_image *images; /* shared with the handler */
    uint32_t n_images;
    struct cs_chain_segments segments;
    struct cs_extents words;
    struct cs_chain_table *tables;      /* of each image */
    uint32_t in_use[CS_CHAIN_SEGMENTS]; /* words; a segment is there while any is */
    uint32_t n_segments, most_segments;
    uint32_t loaded;  /* tables in the kernel */
    uint32_t turn;    /* now: as the handler notes use */
    uint64_t refused; /* tables that found no room */
};

int cs_chain_tables_init(struct cs_chain_tables *tables, struct cs_chain_image *images, uint32_t n_images,
                         uint32_t most_segments, const struct cs_chain_segments *segments);
void cs_chain_tables_fini(struct cs_chain_tables *tables);

/* Puts a table (image/unwind/unwind.h) of `n` bytes where the handler finds it. 0; -EINVAL a table that is none; -ENOSPC no room
 * now; -ENOMEM. */
int cs_chain_tables_load(struct cs_chain_tables *tables, uint32_t image, const struct cs_unwind_header *table,
                         size_t n);
/* The image has no rows: frame pointers. */
void cs_chain_tables_none(struct cs_chain_tables *tables, uint32_t image);
/* Takes away those that were not used in the last `turns` turns, the longest unused first, until `words` fit. Their memory is
 * free after the next sweep. */
void cs_chain_tables_evict(struct cs_chain_tables *tables, uint32_t turns, uint32_t words);
/* After a grace period: frees what went before. */
void cs_chain_tables_sweep(struct cs_chain_tables *tables);
