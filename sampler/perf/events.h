/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's events, as perf_event_open gives them.
 *
 * Files of this module:
 *   cpus              which CPUs there are, and which came or went
 *   event_names       what the name of an event stands for
 *   event_groups      events that answer one question together
 *   events            events by name, and how they are opened
 *   process_bytes     a byte a process, as BPF programs and their reader share it
 *   process_filter    chosen processes and what they start, known in the kernel
 *   process_filter.bpf  the BPF programs that keep those bits
 *   ring              an mmap ring, read side
 *   target            commands held before their exec, threads of a process
 *   target_kind       what can be sampled
 *   timer_rings       a user-mode timer on every thread, its samples in a ring a CPU
 *
 * Events by libpfm4 name with modifiers ("cycles:u", "instructions:k", "cpu-clock", "precise=2"), and how
 * they are opened. They get what the machine and our rights allow, with each refusal in one sentence. */
#pragma once

#include "store/base/error.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cs_event {
    char name[56]; /* as asked, the profile's name */
    char unit[16]; /* of its period: "ns", "cycles", "events" */
    struct perf_event_attr attr;
    bool any_thread; /* of both hardware threads of a core (`:t`): for the observer, which knows how */
};

/* -EINVAL with a sentence where libpfm4 doesn't know the name. */
int cs_event_parse(const char *name, struct cs_event *out, struct cs_error *err);

/* Hardware cycles where this machine counts them, else cpu-clock; `why` then says so, else it is "". */
int cs_event_default(struct cs_event *out, char *why, size_t size, struct cs_error *err);

/* perf_event_open with its failures told apart. Returns the descriptor. */
int cs_event_open(const struct cs_event *event, pid_t pid, int cpu, struct cs_error *err);

/* Samples a second that the kernel allows an event now (perf_event_max_sample_rate). */
uint64_t cs_event_rate_limit(void);

/* True when the event's period is a time in ns. */
bool cs_event_is_clock(const struct cs_event *event);
