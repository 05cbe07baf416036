/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of a clock that counts time in user mode only, as records: one event a thread and CPU (the kernel
 * lets inherited events be read through a ring only if they are bound to a CPU), one ring a CPU. What bursts
 * and paths begin with. */
#ifndef CS_SAMPLER_CLOCK_RINGS_H
#define CS_SAMPLER_CLOCK_RINGS_H

#include "sampler/perf/ring.h"
#include "sampler/sampler.h"

#include <poll.h>

struct cs_clock_rings {
    int n_cpus, n_fds;
    struct cs_ring *rings; /* of CPUs on which there are threads: page != NULL */
    struct pollfd *polled; /* a ring each, then one that is the caller's */
    int *fds;              /* all events */
};

/* Of what is chosen: threads and children that it starts included. `attr` has what a record holds and when it
 * wakes the reader; the rest is set here. `what` names it in sentences ("bursts"). */
int cs_clock_rings_open(enum cs_target target, pid_t pid, uint64_t period_ns,
                        const struct perf_event_attr *attr, unsigned pages, const char *what,
                        struct cs_clock_rings **out, struct cs_error *err);
/* Waits until there are records, the caller's descriptor is readable, or time is over. false: neither. */
bool cs_clock_rings_wait(struct cs_clock_rings *rings, int wake_fd, int timeout_ms);
void cs_clock_rings_close(struct cs_clock_rings *rings);

#endif
