/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events by libpfm4 name with modifiers ("cycles:u", "instructions:k", "cpu-clock", "precise=2"), and how
 * they are opened: with what the machine and our rights allow, each refusal in one sentence. */
#ifndef CS_SAMPLER_EVENTS_H
#define CS_SAMPLER_EVENTS_H

#include "store/error.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cs_event {
    char name[56]; /* as asked, the profile's name */
    char unit[16]; /* of its period: "ns", "cycles", "events" */
    struct perf_event_attr attr;
};

/* -EINVAL with a sentence where libpfm4 doesn't know the name. */
int cs_event_parse(const char *name, struct cs_event *out, struct cs_error *err);

/* Hardware cycles where this machine counts them, else cpu-clock; `why` then says so, else it is "". */
int cs_event_default(struct cs_event *out, char *why, size_t size, struct cs_error *err);

/* perf_event_open with its failures told apart. Returns the descriptor. */
int cs_event_open(const struct cs_event *event, pid_t pid, int cpu, struct cs_error *err);

/* True when the event's period is a time in ns. */
bool cs_event_is_clock(const struct cs_event *event);

#endif
