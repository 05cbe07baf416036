/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples processes that run already, without perf_event_open. A process of ours stops a running thread for a moment
 * (ptrace) and notes its registers and a copy of its stack. Then it lets the thread go, and unwinds the copy. Samples
 * and mappings go into the segment that preloaded timers fill, too.
 *
 * When: a timer of the process's CPU time says that a sample is due. Each time it is drawn from half to one and a half
 * of the mean. The kernel looks at it by its ticks only, so the moment is up to a tick later, drawn at random. Whom:
 * one of the threads that run at that moment, each with the same probability; it counts for all of them. One that
 * sleeps is never stopped, so no system call is interrupted but of a thread that falls asleep just then. Threads and
 * processes that they start are followed.
 *
 * Our end, whatever it is, lets all go: the kernel detaches who it finds traced. */
#pragma once

#include "signals/timers/timer_segment.h"
#include "store/base/error.h"

#include <sys/types.h>

/* Begins with `pid` and all below it. `budget`: share of their CPU time that stops may take (0: the segment's period). The segment must be
 * shared memory. -EPERM where they may not be traced. Returns the process that does it, > 0. */
pid_t cs_stopper_start(struct cs_timer_segment *segment, const pid_t *pids, size_t n, double budget,
                       struct cs_error *err);
/* Ends it; all that it sampled is in the segment. */
void cs_stopper_end(pid_t stopper);
