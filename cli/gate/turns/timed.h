/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs that were only timed, without a recorder. Base and head of one thread each run at the same time on one CPU, two such pairs on two CPUs. The kernel's
 * scheduler exchanges them every few milliseconds, so that the machine's changes are the same for both. Others run one after the
 * other on all CPUs. The CPU times are lines "WHEN NS" of a file next to the store: base.times. */
#pragma once

#include "cli/gate/turns/turns.h"
#include "cli/gate/verdict/estimate.h"

struct gate_timing {
    bool one_cpu;  /* of those that we may use, in turn */
    bool together; /* becomes false, and no pair is made, where one of a pair fails */
    unsigned pairs;
    uint64_t last_ms; /* when the last one began */
};

/* Runs each once or twice, and keeps the CPU times. 0, or negative errno with its sentence. */
int gate_time_pairs(const struct gate_turns *turns, struct gate_timing *how, struct cs_error *err);
#define GATE_TIMED_MIN 6 /* of a side: fewer aren't compared in pairs */
/* Of both stores; none where a side has fewer than six, then `few` has how many there are. The caller frees them. 0, or negative errno
 * with its sentence. */
int gate_timed_read(const char *const store[2], struct gate_run **run, size_t *n, size_t few[2],
                    struct cs_error *err);
