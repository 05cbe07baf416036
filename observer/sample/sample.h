/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One sample and what is summed of it.
 *
 * Files of this module:
 *   sample         one sample, and the shape of all samples of a run
 *   sink           judges the interval that a sample ends, and adds it to aggregates
 *   tags           what was seen under each value of one tag
 *   ratio          one counter by another
 *   mixed          does a tag's rate hold other tags' events?
 *   rule           which filtering fits what is read
 *
 * One sample as the loop takes it, and the shape of all samples of one run. Plain values. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CS_TAGS_MAX 4
#define CS_PROBE_PART                                                                                        \
    4 /* a short period, to see how long visits are, is at most this part of the usual one */
#define CS_COUNTERS_MAX 4 /* software counters and hardware counters together */
#define CS_RATIOS_MAX 2   /* of one counter by another: further series of what is seen */
#define CS_SERIES_MAX (CS_COUNTERS_MAX + CS_RATIOS_MAX)
#define CS_TAG_DESCHEDULED UINT64_MAX   /* the value of every signal tag while the target doesn't run */
#define CS_TAG_FURTHER (UINT64_MAX - 1) /* values that had no row, or lost theirs (tags.h) */

/* In the order of shim-2015 figure 2: clock, counters, clock, tags; then whether the same thread runs. */
struct cs_sample {
    uint64_t start, end; /* TSC cycles */
    uint64_t counters[CS_COUNTERS_MAX];
    uint64_t thread_id; /* number of context switches of the CPU << 32 | thread id; 0 where nobody tells */
    uint64_t tags[CS_TAGS_MAX];
    bool complete;    /* every hardware counter could be read */
    bool descheduled; /* what ran was not the target (only known when following) */
};

/* What a loop reads and where the samples go. Compile-time constant inside each variant of the loop. */
enum cs_sink_kind { CS_SINK_AGGREGATE, CS_SINK_LOG };
struct cs_shape {
    unsigned tags, software, hardware; /* software + hardware <= CS_COUNTERS_MAX */
    bool follow;                       /* an os line tells who runs; lines are switched with it */
    bool throttled;
    enum cs_sink_kind sink;
};
