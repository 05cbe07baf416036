/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts of blocks become profiles of a store. One owner. */
#pragma once

#include "sampler/count/count.h"
#include "sampler/count/space.h"

struct cs_count_tally {
    struct cs_images *images;
    struct cs_table **count, **mix; /* by an image's index; NULL: nothing of it ran */
    size_t n_images;
    struct cs_count_summary *summary;
};

/* Adds the counters of a thread's slot, and sets them to 0. */
int cs_count_tally_add(struct cs_count_tally *tally, struct cs_count_space *space, uint64_t gs,
                       struct cs_error *err);
/* Into the store's epoch, with copies of the files. */
int cs_count_tally_keep(struct cs_count_tally *tally, struct cs_store *store, struct cs_error *err);
void cs_count_tally_fini(struct cs_count_tally *tally);
