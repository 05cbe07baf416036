/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where in a trace a thread was when it was seen with these registers. Pure. */
#pragma once

#include "sampler/burst/replayer/translator/trace.h"

extern uint32_t match_blocks[], match_n_blocks; /* of the last call: blocks that hold a snapshot's PC */
/* At most 32 snapshots. How many instructions the trace has. */
uint64_t match(const struct run *run, const struct registers *registers, struct snapshot *snapshots,
               unsigned n);
/* The same by nothing but what the trace noted right before a snapshot's instruction: several times as fast.
 * Of a trace that noted nothing there all visits fit. */
uint64_t match_noted(const struct run *run, struct snapshot *snapshots, unsigned n);
/* The branch that instructions [from, to) of the trace executed most; 0: none. */
uint64_t busiest_branch(const struct run *run, uint64_t from, uint64_t to);
