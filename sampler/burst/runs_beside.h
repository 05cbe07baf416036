/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a thread runs on another core than its neighbour just now, by /proc. */
#pragma once

#include <sys/types.h>

/* The core that the thread was on last, named by its first CPU; -1: unknown. */
int cs_core_of_thread(pid_t pid, pid_t tid);
/* The share of its runnable time that the thread has had a CPU; 0 where it sleeps, or where its core is `core` or unknown. */
double cs_thread_runs_beside(pid_t pid, pid_t tid, int core);
