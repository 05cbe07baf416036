/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace to rows of edges, memory and branches.
 *
 * This module reads what translated code left, in rows and in time. A file calls only files above it.
 *
 * Files of this module:
 *   cache_sets         which lines the first-level cache's sets have
 *   memory_profile     what memory instructions and code touched
 *   return_stack       what a processor's return stack guesses
 *   branch_predictors  what branches did, by simulated predictors
 *   match_registers    where in the trace a register snapshot fits
 *   trace_to_rows      a trace to rows
 *   timing_samples     when to take snapshots, and from those to timed intervals
 *   polled_words       which words of memory tell how far the thread is
 *   word_history       when the trace changes them
 *   trace_position     how far the thread was at each poll
 *   warm_caches        which pages give the thread its caches back
 *   timed_burst        how fast the thread ran what the trace holds
 *   list_steps         where the trace says that the thread will go, for verify
 *
 * A trace is a sequence of records, one for each block that ran (translator/trace.h). An edge goes from the branch that
 * ends record N to the start of record N+1. That is the branch's target, or what follows it where it wasn't taken.
 * After the last record it goes to where the thread went on. The other blocks give none. Some were cut at the limit of
 * 40 instructions (END_FALL: control just falls through to the next). Some end where following stopped (END_STOP). A
 * last one may have been left in its middle. So an edge always starts at a branch. None leads into the block that the
 * burst begins with, because how the thread came there wasn't seen. */
#pragma once

#include "sampler/burst/replayer/translator/trace.h"

void trace_to_rows(struct cs_burst_shared *shared, const struct run *run, const struct registers *registers);
uint64_t trace_room(uint32_t instructions); /* bytes of trace that so many will need */
void after_answer(void);                    /* work that nobody waits for */
