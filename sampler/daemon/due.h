/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the daemon merges, begins an epoch and cleans up. Pure: time comes in as monotonic nanoseconds, so
 * that a wall clock that is stepped changes nothing. After a failed merge the next try comes after a second,
 * then two, four, ... up to the merge interval. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cs_daemon_due {
    uint64_t merge_ns, epoch_ns; /* epoch_ns 0 = never */
    uint64_t next_merge, next_epoch;
    unsigned failures; /* in a row */
};

enum cs_daemon_due_what {
    CS_DAEMON_DUE_MERGE = 1,
    CS_DAEMON_DUE_EPOCH = 2, /* with CS_DAEMON_DUE_MERGE: merge first */
};

void cs_daemon_due_init(struct cs_daemon_due *due, double merge_s, double epoch_s, uint64_t now_ns);
/* New lengths, counted from the merge and the epoch before. */
void cs_daemon_due_change(struct cs_daemon_due *due, double merge_s, double epoch_s, uint64_t now_ns);
/* Set of enum cs_daemon_due_what. `pressed` = memory runs short: merge, but after failures only when a try is due. */
unsigned cs_daemon_due_now(const struct cs_daemon_due *due, uint64_t now_ns, bool pressed);
void cs_daemon_due_merged(struct cs_daemon_due *due, uint64_t now_ns, bool succeeded);
void cs_daemon_due_epoch(struct cs_daemon_due *due, uint64_t now_ns);
/* Until something is due, at most `most_ms`. */
int cs_daemon_due_wait_ms(const struct cs_daemon_due *due, uint64_t now_ns, int most_ms);
