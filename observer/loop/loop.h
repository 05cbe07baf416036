/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spinning loop.
 *
 * Files of this module:
 *   loop               what a loop is given; the tag-only loop; the choice of a variant
 *   body               body of all variants
 *   variants           expands the body into one function a shape
 *   aggregate          variants: one thread's line, aggregate
 *   aggregate_follow   variants: follow who runs, aggregate
 *   log                variants: one thread's line, log
 *   log_follow         variants: follow who runs, log
 *   by_read            counters by read(), more than two tags: one function for all shapes
 *   follow             moving the loop's pointers to the thread that runs
 *   throttle           waiting until the next sample is due
 *
 * The observer's loop (shim-2015 figure 2), in variants by shape. The coordinator fills a struct cs_loop,
 * asks for the variant of a shape, and runs it on a pinned thread until `stop` is set.
 *
 * Inside a variant there is no branch on configuration (with counters one, which always goes the same way: throttled
 * or not). There is no system call, no allocation, and no call but to find the row of a tag that changed. A
 * throttled variant sleeps. A logging variant flushes between two samples, and the flush is recorded as a gap. The
 * thread that runs the loop owns the struct; others only set `stop`. */
#pragma once

#include "observer/sample/sample.h"
#include "observer/sample/sink.h"
#include "observer/source/rdpmc.h"

struct cs_observe_log;
struct cs_follow;
struct cs_events;
struct cs_variables;

struct cs_loop {
    const volatile uint64_t *tags[CS_TAGS_MAX], *software[CS_COUNTERS_MAX];
    const volatile uint64_t *thread_id; /* shape.follow: the os line's first word */
    struct cs_pmc hardware[CS_COUNTERS_MAX];
    struct cs_shape shape;          /* for cs_loop_read, which isn't specialised */
    struct cs_events *events;       /* cs_loop_read alone */
    struct cs_variables *variables; /* the same; tags and software counters then point into its words */
    struct cs_sink *sink;           /* CS_SINK_AGGREGATE */
    struct cs_observe_log *log;     /* CS_SINK_LOG */
    struct cs_follow *following;    /* shape.follow: what cs_follow_switch needs */
    uint64_t period_cycles;         /* shape.throttled */
    uint64_t jitter_cycles;         /* added to each period: uniform in 0 .. jitter */
    uint64_t random;                /* state of the jitter, not 0 */
    int stop __attribute__((aligned(128))); /* set by anyone, relaxed */
    char apart[124];
};

/* `stop`: the loop ends, and will go on with the same sink. */
#define CS_LOOP_PAUSED 2

/* Until `stop`; may run again with the same sink. cs_sink_total then makes the sums over all rows. */
typedef void cs_loop_run(struct cs_loop *loop);

#define CS_LOOP_TAGS 2 /* of a variant; more are read by cs_loop_read */
/* [tags][software counters][hardware counters][throttled]; one table a file that includes variants.h. */
typedef cs_loop_run *const cs_loop_table[CS_LOOP_TAGS + 1][CS_COUNTERS_MAX + 1][CS_COUNTERS_MAX + 1][2];
extern cs_loop_table cs_loop_aggregate, cs_loop_aggregate_follow, cs_loop_log, cs_loop_log_follow;

/* NULL where the shape has more tags or counters than fit in a sample. */
cs_loop_run *cs_loop_variant(const struct cs_shape *shape);
/* Only the tag, as fast as it goes: {1 tag, no counter, not following, not throttled, aggregate}. */
cs_loop_run cs_loop_tag_only;
/* Counters by read() (events.h), or more tags than a variant has: any shape, taken from the struct. */
cs_loop_run cs_loop_read;
