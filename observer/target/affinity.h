/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves all threads of a running process to one CPU, and puts every one back exactly as it was, whatever ends the
 * observer. If we can't any more, a guardian does it: a child process that does nothing but wait for our end.
 *
 * A thread is known by its ID and its start time, since IDs are used again. A thread that was born after the move has
 * inherited the one CPU from a thread that we moved. It gets what the process's first thread had before.
 *
 * One owner; not thread-safe. */
#pragma once

#include <sys/types.h>

struct cs_observe_affinity;

/* Threads of a process that are put back; what is beyond keeps the one CPU. */
#define CS_OBSERVE_AFFINITY_THREADS_MAX 65536

/* 0, or negative errno: -ESRCH no such process, -EINVAL it can't run there (a kernel thread), -EPERM not ours. */
int cs_observe_affinity_open(pid_t pid, unsigned cpu, struct cs_observe_affinity **out);
/* Moves threads that aren't moved yet: how many, or negative errno. */
int cs_observe_affinity_move(struct cs_observe_affinity *affinity);
unsigned cs_observe_affinity_moved(const struct cs_observe_affinity *affinity); /* so many in all */
/* Puts all back; also ends the guardian. NULL is fine. */
void cs_observe_affinity_close(struct cs_observe_affinity *affinity);
