/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs that were only timed, without a recorder. Base and head of one thread each run at the same time on one CPU, two such pairs on two CPUs. The kernel's
 * scheduler exchanges them every few milliseconds, so that the machine's changes are the same for both. Others run one after the
 * other on all CPUs.
 *
 * A run is a line of a file next to the store, base.times, times in ns:
 *     WHEN CPU [ELAPSED KERNEL [thread|machine QUEUED]]
 * WHEN is the begin in ms. CPU is the time in user mode and in the kernel, KERNEL only the latter. QUEUED is the time that others'
 * load took. "thread": exactly, of a program with one thread. "machine": at most, because something on the machine waited for a
 * CPU that long. Older files have the first two only. */
#pragma once

#include "cli/gate/turns/turns.h"
#include "cli/gate/verdict/estimate.h"

struct gate_timing {
    bool one_cpu;  /* of those that we may use, in turn */
    bool together; /* becomes false, and no pair is made, where one of a pair fails */
    unsigned pairs;
    uint64_t last_ms; /* when the last one began */
};

/* Runs each once or twice, and keeps their times. 0, or negative errno with its sentence. */
int gate_time_pairs(const struct gate_turns *turns, struct gate_timing *how, struct cs_error *err);

struct gate_time_of_run { /* ns; NAN: unknown */
    double elapsed, in_kernel, queued;
    bool exact; /* queued is that of the program's only thread */
};

struct gate_timed {
    struct gate_run *run; /* ns of CPU time */
    struct gate_time_of_run *time;
    size_t n;
    size_t few[2]; /* such runs by side, where they are too few to count: then n is 0 */
};
#define GATE_TIMED_MIN 6 /* of a side: fewer aren't compared in pairs */
/* Of both stores; none where a side has fewer than six. 0, or negative errno with its sentence. */
int gate_timed_read(const char *const store[2], struct gate_timed *timed, struct cs_error *err);
void gate_timed_fini(struct gate_timed *timed);
