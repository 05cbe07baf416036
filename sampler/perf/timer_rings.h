/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of a clock that counts time in user mode only, as records. There is one event a thread and CPU,
 * and one ring a CPU. The kernel lets inherited events be read through a ring only if they are bound to a
 * CPU. What bursts and paths begin with. */
#pragma once

#include "sampler/perf/cpus.h"
#include "sampler/perf/ring.h"
#include "sampler/perf/target_kind.h"
#include "store/base/error.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

struct cs_timer_rings {
    int n_cpus;            /* places */
    struct cs_ring *rings; /* of CPUs on which there are threads: page != NULL */
    struct pollfd *polled; /* a ring each, then one that is the caller's */
    int *fds;              /* all events, n_threads a place, -1 = none */
    int n_threads;

    /* for CPUs that come later */
    struct cs_cpus cpus;
    uint64_t next_look_ns;
    struct perf_event_attr attr;
    unsigned pages;
    const struct cs_process_filter *filter;
    const char *what;
};

/* Of what is chosen: threads and children that it starts included. `attr` has what a record holds and when it
 * wakes the reader; the rest is set here. `filter`: who is chosen, where events of CPUs do (else NULL).
 * `what` names it in sentences ("bursts"). */
struct cs_process_filter;
int cs_timer_rings_open(enum cs_sampler_target target, pid_t pid, const struct cs_process_filter *filter,
                        uint64_t period_ns, const struct perf_event_attr *attr, unsigned pages,
                        const char *what, struct cs_timer_rings **out, struct cs_error *err);
/* Waits until there are records, the caller's descriptor is readable, or time is over. false: neither. Once a second it
 * looks for CPUs that came or went, where events are of CPUs. */
bool cs_timer_rings_wait(struct cs_timer_rings *rings, int wake_fd, int timeout_ms);
/* Events whose `attr` said disabled begin to count, in threads that were started since, too. */
void cs_timer_rings_enable(struct cs_timer_rings *rings);
void cs_timer_rings_close(struct cs_timer_rings *rings);
