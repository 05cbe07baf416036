/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A loop with one thing removed: what its time loses is what that thing costs. Internal to this module. Pure.
 *
 * Locks: prefixes are left out, and an exchange with memory becomes a store and a load. Divisions become multiplications, packed
 * square roots moves. Chains: whatever a turn needs of the turn before, by more than a cycle, is a constant when the turn
 * begins. Forwards: what is loaded where the loop stores is loaded from the stack instead, where it doesn't. Nothing else of
 * the work goes. */
#pragma once

#include "analysis/experiment/piece.h"

/* The instructions of such a turn in `out`, PIECE_OPS_MAX of them at most; 0: there is nothing of the kind, or no more than
 * what can't be replaced (`there`). */
size_t variant_make(enum cs_experiment_variant what, const struct cs_isa_op *ops, size_t n,
                    const struct piece *piece, struct cs_isa_op *out, bool *there);
/* Moves it to the next line of memory; FIXED where operands are relative to the code. */
enum cs_experiment_why variant_align(const struct cs_isa_op *ops, size_t n, struct piece *piece);
