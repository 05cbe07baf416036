/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sampling without perf_event_open: where a container's seccomp profile, or a level of paranoia, takes it away.
 *
 * Files of this module:
 *   timers            this header, and what a command's environment needs
 *   driver_timers     two drivers of the session that read the segment
 *   preloaded         the library's bytes, carried in our program
 *   sample_cost       what a sample by such a timer takes
 *   stopper           a process of ours that samples by stopping threads
 *   stopper_processes  what it knows of those that it follows
 *   exec_rights       set-uid programs: one that is traced gets no rights
 *   stopped_thread    what is noted of a stopped one, and its call chain
 *   process_tables    a process's mappings, and what its stacks are unwound by
 *
 * "timers": a command is started with a library of ours preloaded (signals/timers/timers.c), which gives each
 * thread a timer of its CPU time. Its samples and mappings come through a shared file. What it can't do: the
 * kernel's side of a program, statically linked programs and set-user-id ones. "stops": processes that run already,
 * and any command, are sampled by ptrace (stopper.h). Samples come at the kernel's ticks (100 to 1000 a second),
 * whatever rate is asked.
 *
 * The profiled program may write anything into the segment: it is bounded here, and hurts its own profile only.
 *
 * One thread, the session's. */
#pragma once

#include "sampler/driver/driver.h"
#include "sampler/images/maps.h"

extern const struct cs_driver cs_driver_timers, cs_driver_stops;
/* One of the two? */
bool cs_timers_are(const struct cs_driver *driver);

/* May this process open no event at all, not even of its own user code? Then `why` is the reason, a clause. */
bool cs_timers_needed(char *why, size_t size);

/* Hz at which the kernel looks at such timers. */
double cs_timers_ticks(void);

/* What comes next in a session: where mappings go, how often to sample, and the variables that the command's environment gets
 * (NULL at the end; valid until close). */
void cs_timers_connect(struct cs_driver_state *state, struct cs_maps *maps, uint64_t period_ns);
char *const *cs_timers_environment(const struct cs_driver_state *state);

/* Of the driver "stops", connected: these processes and all below them. `budget`: share of their time, 0: the period counts. */
int cs_timers_follow(struct cs_driver_state *state, const pid_t *pids, size_t n, double budget,
                     struct cs_error *err);

/* sample_cost.c: seconds that such a timer's sample takes of its thread's time, measured on a process of ours within a few ticks of CPU time (15 of them: 60 ms at 250 Hz); never 0. */
double cs_timers_sample_seconds(void);

/* preloaded.c */
const unsigned char *cs_timers_preloaded(size_t *size);
