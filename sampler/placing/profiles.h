/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts in memory on their way to the store: one table an image, event and label.
 *
 * Invariant: what was added is in memory or in the store, never in both or neither. A profile's table is
 * dropped by its own successful merge only. One owner. */
#pragma once

#include "sampler/images/images.h"
#include "sampler/perf/events.h"
#include "store/store.h"

struct cs_session_profiles;

/* Time that an event was wanted and really ran since the last merge, and the mean period of its samples. */
struct cs_session_profiles_times {
    uint64_t enabled_ns, running_ns;
    double period;
};

struct cs_session_profiles *cs_session_profiles_open(const struct cs_event *events, unsigned n_events);
void cs_session_profiles_close(struct cs_session_profiles *profiles);

/* 0 or -ENOMEM: then nothing was added. */
int cs_session_profiles_add(struct cs_session_profiles *profiles, const struct cs_mapped_image *image,
                            unsigned event, uint32_t label, uint64_t offset, uint64_t samples);
/* The image will be in the store, even if nothing is counted for it. */
int cs_session_profiles_touch(struct cs_session_profiles *profiles, const struct cs_mapped_image *image,
                              unsigned event, uint32_t label);

uint64_t cs_session_profiles_pending(const struct cs_session_profiles *profiles); /* samples in memory */

/* Merges all into the store's epoch. Stops at the first failure, keeping the rest. `merged` counts the
 * samples (of points) that went. Each profile is synced to disk, so it takes long: `between` is called after
 * each and may add samples, which stay for the next merge if their profile is done or new: whoever makes ever new
 * ones doesn't make a merge endless. */
struct cs_session_profiles_merging {
    const char *(*label)(void *arg, uint32_t number);
    void (*between)(void *arg);
    void *arg;
};
int cs_session_profiles_merge(struct cs_session_profiles *profiles, struct cs_store *store,
                              const struct cs_session_profiles_times *times,
                              const struct cs_session_profiles_merging *with, uint64_t *merged,
                              struct cs_error *err);
