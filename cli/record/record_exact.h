/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a command used, counted by the kernel from its exec to its end, with all that it started. Nothing is sampled here. `gate`
 * compares these counters of recordings:
 *   exact.task-clock, exact.elapsed     ns
 *   exact.page-faults, exact.context-switches
 *   exact.system-calls                  where tracefs is mounted
 *   exact.instructions:u                where there is a PMU
 *   machine.loop                        ns that a fixed loop of ours took, mean of just before and just after */
#pragma once

#include "store/store.h"

#include <sys/types.h>

#define EXACT_COUNTS 5

struct exact_counts {
    int fd[EXACT_COUNTS]; /* -1: can't be counted here; 0: never opened */
    bool calibrate;
    uint64_t loop_ns;
};

/* Before the command's exec. What can't be counted is left out. */
void record_exact_open(struct exact_counts *exact, pid_t command, bool calibrate);
/* After its end. Closes them. */
int record_exact_keep(struct exact_counts *exact, double seconds, struct cs_store *store,
                      struct cs_error *err);
