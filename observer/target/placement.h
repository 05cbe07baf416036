/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which CPU the target runs on and which the observer spins on. The observer takes the SMT sibling where that
 * was asked for: it sees the core's own counters, and costs the target issue slots. Otherwise it takes the
 * nearest other core, the one that shares the deepest cache, because signals cross through it. Nonsense is
 * refused in words.
 *
 * hwloc knows the machine; HWLOC_SYNTHETIC and HWLOC_XMLFILE in the environment replace it (tests do), as
 * does the `synthetic` argument. CPUs outside the process's cgroup are known and refused, not invisible. */
#pragma once

#include "store/base/error.h"

#include <stdbool.h>

#define CS_ANY_CPU (-1)

struct cs_placement {
    unsigned target, observer;
    bool smt;          /* they are two threads of one core */
    char relation[48]; /* "share the L3 cache", "are threads of one core", ... */
};

struct cs_topology;
int cs_topology_open(const char *synthetic, struct cs_topology **out, struct cs_error *err);
void cs_topology_close(struct cs_topology *t);
/* For tests: as if the cgroup allowed only CPUs in `cpus` ("0-3,8"). */
int cs_topology_allow(struct cs_topology *t, const char *cpus, struct cs_error *err);

/* Either CPU may be CS_ANY_CPU. `taken` (may be NULL): CPUs below 1024 that other observers or targets have.
 */
struct cs_cpu_set {
    unsigned long bits[1024 / (8 * sizeof(unsigned long))];
};
int cs_placement_choose(const struct cs_topology *t, int target, int observer, bool smt,
                        const struct cs_cpu_set *taken, struct cs_placement *out, struct cs_error *err);
