/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How fast the thread, let go, ran what the trace holds. */
#ifndef CS_SAMPLER_BURST_RUNNER_TIMING_H
#define CS_SAMPLER_BURST_RUNNER_TIMING_H

#include "sampler/burst/runner/trace.h"

void timing_prepare(void);      /* nothing being stopped: touches what a timed burst needs */
void timing_rest(void);         /* between bursts: gives that back */
void timing_open(uint32_t tid); /* before the thread is seized; if it fails what writes nothing isn't timed */
uint64_t timing_trace_room(uint64_t trace_bytes);
/* The thread is about to go. */
void timing_begin(const struct run *run, const struct registers *registers, uint32_t tid,
                  uint64_t ticks_a_us);
void timing_watch(uint32_t tid); /* it went; returns when it was seen often enough */
void timing_end(struct cs_burst_outcome *outcome, const struct run *run, const struct registers *registers,
                const void *vectors, uint64_t vectors_bytes);
void timing_close(void);

#endif
