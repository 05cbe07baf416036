/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads' rows of totals: read while the kernel writes them, and freed when their threads have ended. One owner. */
#pragma once

#include "sampler/waits/waits.h"

#include <stdbool.h>

struct cs_wait_rows;

/* All rows are free from here on. NULL when memory is short. */
struct cs_wait_rows *cs_wait_rows_open(struct cs_wait_kernel *kernel);
void cs_wait_rows_close(struct cs_wait_rows *rows);

/* What was added to a thread's total since the last call. `what`: as in store/table/wait_schemas.h. */
struct cs_wait_added {
    uint32_t pid, tid;
    const char *thread, *what;
    uint64_t ns, times;
};
/* A thread at the end of its time, or of ours. */
struct cs_wait_life {
    uint32_t pid, tid;
    const char *thread;
    uint64_t start_ns, end_ns, on_ns; /* seen from, to; how long it ran */
    uint64_t out_ns, wake_ns;         /* it is waiting since; 0: it is not. Woken at; 0: not yet */
    const char *reason;
};
/* Less than half of the rows are free: those of threads that have ended come back with the next cs_wait_rows_each. */
bool cs_wait_rows_are_short(const struct cs_wait_rows *rows);
/* Up to `now_ns`. `lived` (may be NULL) is told of threads that have ended, and with `last` of the others too. */
void cs_wait_rows_each(struct cs_wait_rows *rows, uint64_t now_ns, bool last,
                       void (*each)(void *arg, const struct cs_wait_added *added),
                       void (*lived)(void *arg, const struct cs_wait_life *life), void *arg);
