/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cache lines that threads of one process take from each other. A burst of a thread leaves its hot accesses here:
 * those that come back to the same lines. A conflict needs a hot access of another thread's last bursts to the same
 * line. One of the two writes, and that thread runs on another core right now.
 *
 * Nothing is kept before a process with a second thread is met. Memory is bounded: the oldest lines give way, and a
 * thread's line that its next bursts don't touch is forgotten. Pure but for the callback; one thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cs_placed_rows_image;

struct cs_burst_access {
    uint64_t addr;
    uint32_t size; /* bytes, within the line of `addr` */
    bool writes;
    uint32_t executions; /* in its burst */
    double rate;         /* executions an instruction of its thread; set by cs_burst_shared_lines_add */
    struct cs_placed_rows_image *image;
    uint64_t offset;
};

struct cs_burst_conflict {
    struct cs_burst_access own,
        other;    /* `other`: the one that takes the line most, of those that overlap if any does */
    double taken; /* of own executions, how many may find that the line was taken since the one before */
    double instructions; /* of this thread between two of its accesses to the line, times `own.executions` */
};

/* The share of the time in which that thread has a CPU of another core than that of the burst's thread; 0: it doesn't run. */
typedef double cs_burst_runs_beside(void *with, pid_t pid, pid_t tid);
typedef int cs_burst_conflict_found(void *with, const struct cs_burst_conflict *conflict);

struct cs_burst_shared_lines;
struct cs_burst_shared_lines *cs_burst_shared_lines_open(void);
void cs_burst_shared_lines_close(struct cs_burst_shared_lines *lines);
/* False while there is nothing to compare with: no thread but main ones has been met. */
bool cs_burst_shared_lines_wanted(const struct cs_burst_shared_lines *lines, pid_t pid, pid_t tid);
/* The accesses of one burst of so many instructions, which are put in order. Each conflict goes to `found`; what that
 * returns other than 0 ends it, and is returned. -ENOMEM. */
int cs_burst_shared_lines_add(struct cs_burst_shared_lines *lines, pid_t pid, pid_t tid,
                              uint32_t instructions, struct cs_burst_access *accesses, unsigned n,
                              cs_burst_runs_beside *beside, cs_burst_conflict_found *found, void *with);
