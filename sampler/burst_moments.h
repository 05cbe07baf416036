/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When and whom to follow: cpu-clock events that count time in user mode only and tell the thread. */
#ifndef CS_SAMPLER_BURST_MOMENTS_H
#define CS_SAMPLER_BURST_MOMENTS_H

#include "sampler/sampler.h"

struct cs_clock_rings;
struct cs_moment {
    pid_t pid, tid;
};

/* A moment each `period_ns` of user time of what is chosen (threads and children that it starts included).
 * Ended by cs_clock_rings_close. */
int cs_moments_open(enum cs_target target, pid_t pid, uint64_t period_ns, struct cs_clock_rings **out,
                    struct cs_error *err);
/* Waits until there is one or `wake_fd` is readable or time is over. 1: *moment is the latest; 0: none. */
int cs_moments_wait(struct cs_clock_rings *moments, int wake_fd, int timeout_ms, struct cs_moment *moment);

#endif
