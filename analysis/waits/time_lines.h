/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each thread of a recording did over time: ran, waited for a CPU, waited for what.
 *
 * The times of the longest waits are recorded. Between two of them the store says how long the thread ran, not
 * when. That time is spread evenly over the stretch between them. What is left there is waiting without a
 * reported cause: short waits, and those that had begun before the recording. */
#pragma once

#include "analysis/contexts/calls.h"
#include "store/table/dictionary.h"

#define CS_TIME_LINE_STATES 32
enum { CS_TIME_LINE_RUNNING, CS_TIME_LINE_QUEUED, CS_TIME_LINE_NOT_TOLD }; /* the first of the states */

struct cs_time_line {
    const char *name;
    uint64_t pid, tid;
    uint64_t begin_ns, end_ns;      /* it was there; since the first thread was */
    double ns[CS_TIME_LINE_STATES]; /* all its time */
    double busy_ns;                 /* not waiting for something to do */
    float *
        shares; /* of each bucket's time, by state: [bucket * n_states + state]; what is left it wasn't there */
    size_t first_row, n_rows; /* internal */
};

struct cs_time_lines {
    struct cs_time_line *at; /* the busiest first */
    size_t n, capacity;
    const char *states[CS_TIME_LINE_STATES]; /* "running", "run-queue", "waiting", then kinds of waits */
    unsigned n_states, n_buckets;
    uint64_t from_ns, to_ns,
        whole_ns;              /* what the buckets cut; all there is. Since the first thread was there */
    uint64_t omitted;          /* threads, less busy ones */
    uint64_t cut, cut_threads; /* what the recording left out */
    uint64_t shortest_ns;      /* of the waits that are there: those left out are no longer */
    /* The rest is internal. */
    struct cs_dictionary texts;
};

struct cs_time_lines_wanted {
    const char *label;               /* NULL: all */
    double from_seconds, to_seconds; /* to 0: to the end */
    unsigned buckets;
    size_t lines; /* at most */
};

/* -ENOENT with a sentence where there are none. */
int cs_time_lines_open(struct cs_time_lines *lines, struct cs_store *store,
                       const struct cs_time_lines_wanted *wanted, struct cs_error *err);
void cs_time_lines_close(struct cs_time_lines *lines);
