/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a thread waits within its work, or for work: the second is idleness, and no finding. Pure. */
#pragma once

#include "analysis/contexts/calls.h"

#include <stdbool.h>

enum cs_wait_reading {
    CS_WAIT_IS_WAIT,
    CS_WAIT_IS_EITHER, /* nothing tells */
    CS_WAIT_IS_IDLE,
};

struct cs_wait_facts { /* of waits of one kind and place, in ns */
    uint64_t ns;
    uint64_t by_idle_ns;      /* while the thread that ended them was idle itself */
    uint64_t by_busy_ns;      /* while it ran or waited for something */
    uint64_t by_own_ns;       /* of waits for a CPU: while a thread of the recording had it */
    uint64_t by_unknown_ns;   /* while nobody knows what it did */
    uint64_t by_process_ns;   /* of an event that another process told */
    uint64_t by_wait_ns;      /* while it waited, for whatever */
    uint64_t by_time_ns;      /* of that, until a time had come */
    uint64_t no_end_ns;       /* they hadn't ended */
    uint64_t first_thread_ns; /* of a process's first thread */
    uint64_t resting_ns;      /* of other threads, that hardly run */
    uint64_t timer_ns;        /* of a thread that only waits for time */
    uint64_t pool_ns;         /* of a run-time library's thread that has no work */
    uint64_t serving_ns;      /* with a client's request under way */
    uint64_t handed_ns;       /* ended by threads that wait there, too */
    uint64_t working_ns;      /* of threads that wait within their work elsewhere */
    bool timed_out;           /* nobody ended them */
    uint64_t blocks_ns;       /* meanwhile others waited for it */
    uint64_t keeps_ns;        /* of that, not for its end: for what it held or was to hand on */
};

enum cs_wait_reading cs_wait_reading_of(const char *kind, const struct cs_wait_facts *facts);
/* "wait", "either", "idle" */
const char *cs_wait_reading_name(enum cs_wait_reading reading);
/* A kind that threads wait for results by, and for work. */
bool cs_wait_is_for_work(const char *kind);
/* By the kind alone. */
bool cs_wait_is_idle(const char *kind);
/* What of it has no row of its own elsewhere: who waits for another's end shares that one's waits. */
double cs_wait_own_ns(const char *kind, const struct cs_wait_facts *facts);
