/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The observer must not take the target's share of its CPU.
 *
 * Linux gives a group of processes (a session where sched_autogroup_enabled is 1, else a cgroup) one weight for
 * all CPUs. It divides that weight by what the group runs on each. So a spinning thread takes weight from a
 * program of its own group, though it runs on another CPU. It takes half of it at equal priority, nearly all at
 * nice -20. Shares seen: 49 % of a CPU next to a competitor, 1.5 % when observed from the same session at nice
 * -20. From a group of its own it takes none (bench/run observer-fair). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Does the scheduler group the calling process by its session? False where a cgroup decides. */
bool cs_observe_grouped_by_session(void);
/* Starts a session, and so a group, of the calling process alone, which must lead no process group (else
 * false), and gives that group the highest priority that we may. Its children of before stay where they are. */
bool cs_observe_leave_session(void);
/* Do we run in one group with `pid`, whose CPU's share would shrink by ours? False too where nobody knows. */
bool cs_observe_same_group(pid_t pid);

/* Time that the process's threads of now had a CPU, and that they waited for one, since each began.
 * 0 or -errno. */
struct cs_observe_cpu_wait {
    uint64_t ran_ns, waited_ns;
    unsigned threads;
};
int cs_observe_cpu_wait(pid_t pid, struct cs_observe_cpu_wait *out);
