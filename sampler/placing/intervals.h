/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time-resolved mode: samples of each interval of a chosen length, by image, event and 16-byte block of
 * code. So `phases` can show rates over time. See sprof-1998 section 3.3. Bounded: when an epoch's interval
 * profiles pass `limit_bytes` on disk, intervals become twice as long, those on disk too, up to an hour.
 * What still exceeds the limit then is a few bytes for each block of code that ran.
 *
 * The axis is wall-clock time taken once at the start and continued by the monotonic clock. A clock that is
 * stepped never folds two times onto one another. One owner; used by the daemon and by one-shot recordings:
 *
 *     cs_intervals_open(10000, 4 << 20, &intervals);
 *     config.placed = ... cs_intervals_add(intervals, placed, cs_sampler_event(sampler, placed->event))
 *     cs_sampler_merge(...); cs_intervals_merge(intervals, store, sampler, &err);
 *     cs_intervals_close(intervals);      before cs_sampler_close: it points at the session's images */
#pragma once

#include "sampler/sampler.h"

#define CS_INTERVAL_BLOCK_BYTES 16

struct cs_intervals;

/* 0 or -ENOMEM. */
int cs_intervals_open(uint64_t length_ms, uint64_t limit_bytes, struct cs_intervals **out);
void cs_intervals_close(struct cs_intervals *intervals);
/* 0 or -ENOMEM: what is left of the count is then missing. */
int cs_intervals_add(struct cs_intervals *intervals, const struct cs_sampler_placed *placed,
                     const char *event);
/* Into the store's current epoch. What was not written stays for the next call. `sampler` keeps up meanwhile.
 */
int cs_intervals_merge(struct cs_intervals *intervals, struct cs_store *store, struct cs_sampler *sampler,
                       struct cs_error *err);
uint64_t cs_intervals_length_ms(const struct cs_intervals *intervals);
/* A new epoch begins: back to the length that was asked for. */
void cs_intervals_epoch(struct cs_intervals *intervals);
