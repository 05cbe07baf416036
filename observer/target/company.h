/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a process waited for its CPU, and which others were idle. Its children ran there, its cgroup had no quota left, or
 * its affinity excludes that CPU. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CS_OBSERVE_IDLE_CPUS 1024

struct cs_observe_company {
    uint64_t children_ns;                   /* CPU time of descendants, of those that ended too */
    uint64_t throttled_ns;                  /* of the cgroups that it is in, the one that stood longest */
    uint64_t idle_ns[CS_OBSERVE_IDLE_CPUS]; /* of each CPU, since the machine started */
    bool has_cpus;
    cpu_set_t cpus; /* where its main thread may run */
};

/* What can be read; all else is 0. */
void cs_observe_company(pid_t pid, struct cs_observe_company *out);
