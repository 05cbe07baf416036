/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that stops a thread without its noticing, reads its memory and times it. It has the profiler's rights
 * and never runs foreign code; what it reads of the replayer's it copies once and bounds.
 *
 * If a process dies: the kernel lets a thread go whose holder dies, and kills the replayer. A replayer that is late is
 * killed, and the thread let go.
 *
 * A file calls only files above it.
 *
 * Files of this module:
 *   rights             what /proc/TID/status says of a thread's rights
 *   same_program       is a thread still of the program that the runner was made for?
 *   read_regions       reads the target's memory map
 *   replayer_process   starts the replayer and takes turns with it
 *   kept_pages         copies of the pages that the replayer wants
 *   displaced_thread   threads of the program that our CPU is taken from
 *   keep_cpu_awake     keeps the CPU of the stopped thread out of idle
 *   verify             compares a trace with single-stepping
 *   alarm              goes off while a thread runs its own code
 *   poll_words         words of the thread's memory, read while it runs
 *   watch_thread       looks at the thread that was let go
 *   take_rows          what the replayer found, bounded
 *   exec_again         an exec that would lose rights because we trace, made again
 *   stop_thread        stops a thread without its noticing, and makes a burst
 *   start              entry, own stack, the loop over commands
 */
#pragma once

#include "sampler/burst/wire.h"

void burst(struct cs_burst_shared *shared); /* the burst that shared->command asks for */
