/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Solved edge counts, kept in the store's folder STORE/.flows. Solving takes most of the time of a report, and
 * its input rarely changes. A derived file: it may be deleted at any time, and a store that can't be written
 * does without it.
 *
 * Invariant: what is taken from it is what solving would give. The key is a hash of all that the solver reads:
 * the loaded edges, the checksums of the bursts' profiles, the solver's version. The body has a checksum of
 * its own, and the edges themselves always come from the profiles.
 *
 *     offset  0: magic, u64                 "CSsflow1", little-endian like all that follows
 *             8: key, u64
 *            16: sum, u64                   XXH3 of the rows, seeded with n_bursts and the next field's hash
 *            24: executions_a_flow_ns, f64
 *            32: n, u32; n_bursts, u32
 *            40: n rows of flow, f64; replicates, 16 x f32
 *
 * Written under a name of its own and renamed: two who write at once leave one of both, whole. Not synced: what
 * a crash leaves fails its checksum and is solved again. */
#pragma once

#include "analysis/frequency/edge_flow.h"

/* Key of the loaded list; `bursts` stands for the checksums of the profiles of bursts. */
uint64_t flow_cache_key(const struct cs_edge_flow *flow, uint64_t bursts);
/* Fills flow, replicate and n_bursts; false leaves them as they are. */
bool flow_cache_load(const char *store, uint64_t key, struct cs_edge_flow *flow);
void flow_cache_save(const char *store, uint64_t key, const struct cs_edge_flow *flow);
