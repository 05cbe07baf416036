/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call chains in memory on their way to the store: one tree of contexts an event and label (store/contexts.h). Each
 * frame is placed as a sample is, at the sample's own time. What can't be placed is its cause's frame in "unknown".
 *
 * Invariant: a chain that was added is in memory or in the store, never in both or neither. A tree is dropped by its
 * own successful merge only. Bounded: a tree that grows beyond CS_SESSION_CONTEXTS_NODES is folded. One owner. */
#pragma once

#include "sampler/placing/profiles.h"
#include "sampler/placing/resolve.h"
#include "sampler/sampler.h"
#include "store/contexts.h"

#define CS_SESSION_CONTEXTS_NODES (2 * CS_CONTEXTS_NODES_MAX)

struct cs_session_contexts;

struct cs_session_contexts *cs_session_contexts_open(const struct cs_event *events, unsigned n_events);
void cs_session_contexts_close(struct cs_session_contexts *contexts);

/* A drain begins: what was placed before may lie elsewhere now. */
void cs_session_contexts_refresh(struct cs_session_contexts *contexts);
/* The entry's chain; the entry itself lies at `found`. Images met get a profile in `profiles`, for their names. 0 or -ENOMEM: then
 * nothing was added. */
int cs_session_contexts_add(struct cs_session_contexts *contexts, struct cs_session_places *places,
                            struct cs_session_profiles *profiles, const struct cs_driver_entry *entry,
                            const struct cs_maps_location *found);

/* Where the entry's callers lie, innermost first. Returns how many. */
unsigned cs_session_contexts_callers(struct cs_session_contexts *contexts, struct cs_session_places *places,
                                     const struct cs_driver_entry *entry, struct cs_sampler_frame *callers,
                                     unsigned capacity);

/* The events are none of the profiles'. */
void cs_session_contexts_of_others(struct cs_session_contexts *contexts);
/* The key of the context that was added last. */
uint64_t cs_session_contexts_last(const struct cs_session_contexts *contexts);

/* As cs_session_profiles_merge. */
int cs_session_contexts_merge(struct cs_session_contexts *contexts, struct cs_store *store,
                              const struct cs_session_profiles_times *times,
                              const struct cs_session_profiles_merging *with, struct cs_error *err);
