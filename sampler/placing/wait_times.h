/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When threads waited: the longest waits of a recording with their beginnings and ends, and from when to when each
 * thread was there. Each carries how long the thread had run by then. So the running time between any two of them is
 * exact, whatever was left out.
 *
 * Bounded in waits and in threads: a longer wait takes the place of the shortest. What was left out is counted. One
 * owner. */
#pragma once

#include "sampler/placing/profiles.h"
#include "store/store.h"

struct cs_session_wait_times;

struct cs_session_wait_time {
    uint32_t label, pid, tid;
    const char *what; /* a reason, or CS_WAIT_TIMES_THREAD; it lives for ever */
    char thread[17];
    uint64_t context; /* in "waits"; 0: not known */
    uint64_t begin_ns, wake_ns, end_ns;
    uint64_t on_ns; /* how long the thread had run: at begin_ns; of a thread at end_ns */
};

/* NULL when memory is short. */
struct cs_session_wait_times *cs_session_wait_times_open(size_t waits_max, size_t threads_max);
void cs_session_wait_times_close(struct cs_session_wait_times *times);
void cs_session_wait_times_wait(struct cs_session_wait_times *times, const struct cs_session_wait_time *wait);
void cs_session_wait_times_thread(struct cs_session_wait_times *times,
                                  const struct cs_session_wait_time *thread);
/* All of them, and how many were left out. Once. */
int cs_session_wait_times_merge(const struct cs_session_wait_times *times, struct cs_store *store,
                                const struct cs_session_profiles_merging *with, struct cs_error *err);
