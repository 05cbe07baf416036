/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Solved flows kept beside a store, in STORE/.flows: solving takes most of the time of a report, its input
 * seldom changes. A derived file: it may be deleted at any time, and a store that can't be written does
 * without it. For transfers.c only.
 *
 * Invariant: what is taken from it is what solving would give. The key is a hash of all that the solver reads
 * (the transfers as loaded, the windows' checksums, the solver's version), the body has a checksum of its
 * own, and the transfers themselves always come from the profiles.
 *
 *      0      8     16     24    28         32              (little-endian)
 *      | magic | key | sum | n   | n_bursts | n × (flow: f64, replicate: 16 × f32) |   sum = XXH3 of the
 * rows, seed n_bursts
 *
 * Written to a name of its own and renamed: two who write at once leave one of both, whole. Not synced: what
 * a crash leaves fails its checksum and is solved anew. */
#ifndef CS_ANALYSIS_TRANSFERS_KEPT_H
#define CS_ANALYSIS_TRANSFERS_KEPT_H

#include "analysis/frequency/edge_flow.h"

/* Key of the loaded list; `windows` is a sum of the windows' checksums. */
uint64_t flows_key(const struct cs_transfers *transfers, uint64_t windows);
/* Fills flow, replicate and n_bursts; false leaves them as they are. */
bool flows_recall(const char *store, uint64_t key, struct cs_transfers *transfers);
void flows_keep(const char *store, uint64_t key, const struct cs_transfers *transfers);

#endif
