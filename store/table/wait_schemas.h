/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording of waits leaves (FORMAT.md, "Waits"): all under the pseudo-image of contexts. Times are ns. */
#pragma once

#include "store/table/table.h"

#define CS_WAITS_EVENT "waits"   /* contexts of who waited, and all the tables */
#define CS_WAKERS_EVENT "wakers" /* contexts of who ended waits */

#define CS_WAITS_INTERRUPT "[interrupt]"
#define CS_WAITS_NO_END "[no end yet]" /* when the recording ended, it still waited */

#define CS_WAITS_EVENT_FROM                                                                                  \
    "event from " /* begins an object that another process told of, with its name and PID */

/* Waits, estimated from those that were kept. */
extern const struct cs_schema cs_schema_waits;
enum cs_waits_column {
    CS_WAITS_CONTEXT, /* key of the context in "waits" */
    CS_WAITS_REASON,
    CS_WAITS_CALL,
    CS_WAITS_OBJECT,
    CS_WAITS_THREAD, /* its name */
    CS_WAITS_WAKER,  /* the waker's name; CS_WAITS_INTERRUPT, CS_WAITS_NO_END; "": nobody, or not known */
    CS_WAITS_WAKER_CONTEXT,
    CS_WAITS_LOG2, /* a wait's length lies in [2^n, 2^(n+1)) */
    CS_WAITS_COUNT,
    CS_WAITS_NS,
    CS_WAITS_LONGEST,
    CS_WAITS_N,
};

/* Each thread's whole time, exact: rows add up to it. */
extern const struct cs_schema cs_schema_threads;
enum cs_threads_column {
    CS_THREADS_PID,
    CS_THREADS_TID,
    CS_THREADS_NAME,
    CS_THREADS_WHAT, /* a reason; "on-cpu"; "stolen": on a CPU by the clock, but not charged to it */
    CS_THREADS_NS,
    CS_THREADS_COUNT,
    CS_THREADS_N,
};

/* What those who ended waits did while they lasted: rows of one (context, reason, object) add up to its waits that a
 * thread ended. */
extern const struct cs_schema cs_schema_blame;
enum cs_blame_column {
    CS_BLAME_CONTEXT, /* of who waited */
    CS_BLAME_REASON,
    CS_BLAME_OBJECT,
    CS_BLAME_HOLDER, /* name of the thread at work or at rest */
    CS_BLAME_WHAT, /* "running", "not followed" (another program), "waiting" (nobody knows for what), or the reason of its own wait */
    CS_BLAME_HOLDER_CONTEXT, /* running: where it ended the wait, in "wakers"; else of its wait, in "waits" */
    CS_BLAME_NS,
    CS_BLAME_N,
};

/* When threads waited, of the longest waits of a recording, and when threads were there: on CLOCK_MONOTONIC. The columns
 * behind the keys merge by maximum: equal keys are the same wait. */
#define CS_WAIT_TIMES_THREAD "[thread]"
#define CS_WAIT_TIMES_CUT "wait-times-cut" /* counters of the epoch: what was left out */
#define CS_WAIT_TIMES_CUT_THREADS "wait-times-cut-threads"
extern const struct cs_schema cs_schema_wait_times;
enum cs_wait_times_column {
    CS_WAIT_TIMES_PID,
    CS_WAIT_TIMES_TID,
    CS_WAIT_TIMES_BEGIN,
    CS_WAIT_TIMES_WHAT, /* a reason; CS_WAIT_TIMES_THREAD: the row is a thread */
    CS_WAIT_TIMES_NAME,
    CS_WAIT_TIMES_CONTEXT, /* as CS_WAITS_CONTEXT; 0: not known */
    CS_WAIT_TIMES_WAKE,    /* from then on it waited for a CPU; 0: not told */
    CS_WAIT_TIMES_END,
    CS_WAIT_TIMES_ON, /* ns that the thread had run: at BEGIN; of a thread at END */
    CS_WAIT_TIMES_N,
};
