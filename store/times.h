/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A part of a store's time. A store tells times by epochs, which are known from `started` to `ended`. Samples also have
 * times within an epoch where that has intervals: such an epoch is cut. Of a cut epoch these are seen:
 *
 *     points, intervals   of the intervals that meet the times. A block's samples are shared out over its points as
 *                         those of the whole epoch are. They have no labels, since intervals have none
 *     bursts, paths       as they are: they tell of the code, not of when
 *     chains, waits, tags not at all: nothing tells their times */
#pragma once

#include "store/base/bytes.h"
#include "store/store.h"

/* What is seen where somebody asked for less. */
struct cs_store_seen {
    struct cs_store_times times;
    uint64_t
        grain_ms; /* of the longest interval or epoch that reaches beyond what was asked for; 0 = none does */
    bool by_epochs; /* that is an epoch */
};

/* From now on what is read through this handle is of these times only, of those epochs that it sees already.
 * `whole_epochs`: none is cut, since chains, waits or labels are asked for. -ENOENT, and which times the store has, where
 * there is nothing. */
int cs_store_see_times(struct cs_store *store, const struct cs_store_times *asked, bool whole_epochs,
                       struct cs_store_seen *seen, struct cs_error *err);

/* NULL: all of the epochs that it sees. */
const struct cs_store_times *cs_store_times_asked(const struct cs_store *store);

/* For the catalogue: the profiles of an epoch of which only a part is asked for. */
struct cs_times_cut {
    struct cs_store *store;
    struct cs_store_times epoch;
    const struct cs_store_profile_ref *profiles;
    size_t n;
};
/* Whether this epoch is cut. If it isn't all of it is seen. */
bool cs_times_cuts(struct cs_times_cut *cut, const char *epoch);
/* 1: the profile is seen, as the file in `bytes` where that isn't empty. 0: it isn't seen. */
int cs_times_cut_profile(const struct cs_times_cut *cut, const struct cs_store_profile_ref *profile,
                         struct cs_bytes *bytes, struct cs_error *err);
