/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How fast the thread, let go, ran what the trace holds. */
#pragma once

#include "sampler/burst/replayer/translator/trace.h"

void timed_burst_prepare(void); /* nothing being stopped: touches what a timed burst needs */
void timed_burst_rest(void);    /* between bursts: gives that back */
uint64_t timed_trace_room(uint64_t trace_bytes);
/* The thread is about to go: how shall it be looked at? */
void timed_burst_ran(const struct run *run, const struct registers *registers);
/* It was; what does that tell? */
void timed_burst_end(struct cs_burst_outcome *outcome, const struct run *run,
                     const struct registers *registers, const void *vectors, uint64_t vectors_bytes);
