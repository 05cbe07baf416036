/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace to rows of edges, memory and branches.
 *
 * A trace is a sequence of records, one for each block that ran (trace.h). An edge goes from the branch that
 * ends record N to the start of record N+1: that is the branch's target, or what follows it where it wasn't
 * taken. After the last record it goes to where the thread went on. The other blocks give none: those that
 * were cut at the limit of 40 instructions (END_FALL: control just falls through to the next), those that end
 * where following stopped (END_STOP), and a last one that was left in its middle. So an edge always starts at
 * a branch, and none leads into the block that the burst begins with: how the thread came there wasn't
 * seen. */
#ifndef CS_SAMPLER_BURST_REPLAYER_TRACE_TO_ROWS_H
#define CS_SAMPLER_BURST_REPLAYER_TRACE_TO_ROWS_H

#include "sampler/burst/replayer/trace.h"

void trace_to_rows(struct cs_burst_shared *shared, const struct run *run, const struct registers *registers);
uint64_t trace_room(uint32_t instructions); /* bytes of trace that so many will need */
void after_answer(void);                    /* work that nobody waits for */

#endif
