/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the observer's numbers come from: clocks, counters, the operating system.
 *
 * Files of this module:
 *   clock          the clock: TSC on x86-64, CNTVCT on AArch64, time on RISC-V
 *   arch           the few instructions that differ by architecture
 *   arch_x86_64    those of x86-64
 *   arch_aarch64   those of AArch64
 *   arch_riscv64   those of RISC-V
 *   arch_registers  what those two have alike
 *   rdpmc          a hardware counter read from user space
 *   readable       may a counter be read from user space?
 *   events         events of the processor and the kernel, by rdpmc or read()
 *   variables      plain variables of the target, by its memory file
 *   core_events    events of a whole core, and what of them is the target's
 *   os             who runs on the target's CPU: loading the BPF program
 *   os.bpf         the BPF program that keeps the line
 *   os_line        that line
 *   os_names       names of system calls, of x86-64 only
 *
 * Events of the processor and of the kernel in addition to signals (shim-2015 sections 3 and 6.3). Two ways
 * to read them:
 *
 *  - rdpmc reads counters of the observer's own CPU alone. The target's retired work is among them only where
 * the observer is the SMT sibling and the event counts both hardware threads (AnyThread, modifier `t`: Intel
 * before Ice Lake). Then each event takes two counters, the core's and the observer's own, and a sample has their
 * difference: the target's. Cycles take one: those of the core.
 *  - read() asks the kernel for the counters that it keeps for the target's threads. Works with any event,
 * the kernel's own (task-clock, page-faults) too, from any CPU. But a counter that is running on another CPU
 * is fetched by interrupting that CPU: microseconds a sample, and the target pays part of them.
 *
 * All events of one thread are a group: scheduled together, read at once. An interval in which the group had
 * to share the hardware with others is unread, never scaled.
 *
 * Opened and closed by the coordinator, but cs_events_open_own, which the loop's own thread calls. */
#pragma once

#include "observer/sample/sample.h"
#include "observer/source/rdpmc.h"
#include "store/base/error.h"

#include <linux/perf_event.h>
#include <sys/types.h>

struct cs_observe_event {
    const char *name; /* as asked */
    struct perf_event_attr attr;
    bool any_thread; /* from the core's counter, of both hardware threads; `attr` is the thread's */
};

/* Ends the name of a counter that is the observer's own share of the event before it. */
#define CS_EVENT_OWN_SUFFIX " (observer)"

struct cs_events;

/* Whether this processor can count for both hardware threads; else *why is a clause that says why not. */
bool cs_events_any_thread(const char **why);
/* Checks, before there is a target, that this machine can count these events for the observer's own thread.
 * `smt`: the observer is the target's sibling. `own`: count the observer's own share too, beside events of
 * the target. */
int cs_events_open(const struct cs_observe_event *events, unsigned n, bool smt, bool own,
                   struct cs_events **out, struct cs_error *err);
void cs_events_close(struct cs_events *e);

/* Number of counters in a sample, and the name of each: those asked for, without `t`, then the observer's own. */
unsigned cs_events_counters(const struct cs_events *e);
void cs_events_name(const struct cs_events *e, unsigned counter, char *to, size_t size);
/* True where samples need read(), false where rdpmc does it. */
bool cs_events_by_read(const struct cs_events *e);
/* The kernel's part of the events could not be counted for lack of privilege: user mode alone. */
bool cs_events_user_only(const struct cs_events *e);

/* Groups for each thread that the process has now; threads and processes that these start are counted too.
 * `thread` 0 = all. */
int cs_events_open_target(struct cs_events *e, pid_t process, pid_t thread, struct cs_error *err);
/* By the thread that will read. With rdpmc, *hardware get the counters in order. */
int cs_events_open_own(struct cs_events *e, struct cs_pmc hardware[CS_COUNTERS_MAX], struct cs_error *err);
/* After the readings: no thread's events had a counter at any of them. */
bool cs_events_never_counted(const struct cs_events *e);
/* One sample by read(): all counters, in order. False: a group was not scheduled all the time since the last
 * one. */
bool cs_events_read(struct cs_events *e, uint64_t counters[CS_COUNTERS_MAX]);
/* The observer's own part of an event of the core, so far, read by its thread. False where none was taken off. */
bool cs_events_own(const struct cs_events *e, unsigned event, uint64_t *events);
