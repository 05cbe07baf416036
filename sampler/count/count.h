/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact counts of a command's instructions, without a PMU. x86-64 only.
 *
 * The command is traced and never runs its own code. It runs translations of its blocks, which count, in memory that is
 * mapped into it. A block is translated when it is first met. Registers, the stack and return addresses are those of the
 * program; only the program counter lies elsewhere. The segment register GS belongs to us. Addresses aren't random, so
 * that a program that computes the same counts the same. A command takes about three times as long.
 *
 * An instruction with `rep` counts once, as a PMU counts it. Threads and children count, too. A block counts as a whole, even if
 * a fault, a kill or a jump out of a handler leaves it in the middle.
 *
 * Refused, with a sentence: programs that make code as they run, and instructions that can't be translated.
 *
 * A file calls only files above it.
 *
 * Files of this module:
 *   insn     what an instruction is to a translation
 *   block    one block's translation: pure
 *   space    an address space: areas for translations, a slot for each thread
 *   blocks   its translated blocks, and how they are linked
 *   tally    from counts of blocks to profiles of a store
 *   threads  the traced threads
 *   count    what stops them
 */
#pragma once

#include "store/store.h"

#include <stdint.h>

#define CS_COUNT_EVENT "instructions"
/* The same instructions, each weighed by a number made of its bytes without addresses: functions with equal sums in both ran
 * the same instructions as often. */
#define CS_COUNT_MIX_EVENT "instruction-mix"

struct cs_count_summary {
    int exit_code; /* a signal: 128 + its number */
    uint64_t instructions, calls, branches, system_calls;
    uint64_t blocks, processes;
};

/* Into the store's epoch. `seconds`: after these the command is killed, and the error is -ETIME; 0: no limit. Traces all children
 * of the calling process, so there must be none. */
int cs_count_command(char **argv, double seconds, struct cs_store *store, struct cs_count_summary *summary,
                     struct cs_error *err);
