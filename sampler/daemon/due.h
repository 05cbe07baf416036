/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the daemon merges, begins an epoch and cleans up. Pure: time comes in as monotonic nanoseconds, so
 * that a wall clock that is stepped changes nothing. After a failed merge the next try comes after a second,
 * then two, four, ... up to the merge interval. */
#ifndef CS_SAMPLER_DAEMON_SCHEDULE_H
#define CS_SAMPLER_DAEMON_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct cs_schedule {
    uint64_t merge_ns, epoch_ns; /* epoch_ns 0 = never */
    uint64_t next_merge, next_epoch;
    unsigned failures; /* in a row */
};

enum cs_due {
    CS_DUE_MERGE = 1,
    CS_DUE_EPOCH = 2, /* with CS_DUE_MERGE: merge first */
};

void cs_schedule_init(struct cs_schedule *schedule, double merge_s, double epoch_s, uint64_t now_ns);
/* New lengths, counted from the merge and the epoch before. */
void cs_schedule_change(struct cs_schedule *schedule, double merge_s, double epoch_s, uint64_t now_ns);
/* Set of enum cs_due. `pressed` = memory runs short: merge, but after failures only when a try is due. */
unsigned cs_schedule_due(const struct cs_schedule *schedule, uint64_t now_ns, bool pressed);
void cs_schedule_merged(struct cs_schedule *schedule, uint64_t now_ns, bool succeeded);
void cs_schedule_epoch(struct cs_schedule *schedule, uint64_t now_ns);
/* Until something is due, at most `most_ms`. */
int cs_schedule_wait_ms(const struct cs_schedule *schedule, uint64_t now_ns, int most_ms);

#endif
