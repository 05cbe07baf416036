/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Triggers, when and whom to follow: cpu-clock events that count time in user mode only and tell the thread. */
#pragma once

#include "sampler/sampler.h"

struct cs_timer_rings;
struct cs_burst_trigger {
    pid_t pid, tid;
};

/* A trigger each `period_ns` of user time of what is chosen (threads and children that it starts included).
 * Ended by cs_timer_rings_close. */
struct cs_process_filter;
int cs_burst_triggers_open(enum cs_sampler_target target, pid_t pid, const struct cs_process_filter *filter,
                           uint64_t period_ns, struct cs_timer_rings **out, struct cs_error *err);
/* Waits until there is one or `wake_fd` is readable or time is over. Returns how many came, *trigger is the latest. */
int cs_burst_triggers_wait(struct cs_timer_rings *triggers, int wake_fd, int timeout_ms,
                           struct cs_burst_trigger *trigger);
