/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Triggers, when and whom to follow: cpu-clock events that count time in user mode only and tell the thread. */
#pragma once

#include "sampler/sampler.h"

struct cs_burst_triggers;
struct cs_burst_trigger {
    pid_t pid, tid;
};

/* A trigger each `period_s` of user time of what is chosen (threads and children that it starts included), and each
 * `later_s`, if that is longer, from cs_burst_triggers_slow_down on. */
struct cs_process_filter;
int cs_burst_triggers_open(enum cs_sampler_target target, pid_t pid, const struct cs_process_filter *filter,
                           double period_s, double later_s, struct cs_burst_triggers **out,
                           struct cs_error *err);
/* Does nothing the second time. */
void cs_burst_triggers_slow_down(struct cs_burst_triggers *triggers);
void cs_burst_triggers_close(struct cs_burst_triggers *triggers);
/* Waits until there is one or `wake_fd` is readable or time is over. Returns how many came, *trigger is the latest. */
int cs_burst_triggers_wait(struct cs_burst_triggers *triggers, int wake_fd, int timeout_ms,
                           struct cs_burst_trigger *trigger);
