/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every constant of the timing of bursts: what it is, its unit, which `bench/run` shows it. One without a
 * source was chosen by how the first programs behaved, and nobody wrote down what other values would do. To
 * try another value: make EXTRA_CFLAGS=-DCS_MODEL_NAME=VALUE. */
#pragma once

/* ---- polled words (polled_words.c) ---- */
/* Words that are written again and again, at most: more of them slow the thread; unit: words; shows:
 * burst-pace */
#ifndef CS_MODEL_POLLED_OFTEN
#define CS_MODEL_POLLED_OFTEN 5
#endif
/* For the choice of words, while the thread stands, at most; unit: ns; shows: burst-hold */
#ifndef CS_MODEL_POLLED_CHOOSE_NS
#define CS_MODEL_POLLED_CHOOSE_NS 26000
#endif
/* Of the trace's beginning, looked at for such words; unit: blocks; shows: burst-hold */
#ifndef CS_MODEL_POLLED_BLOCKS
#define CS_MODEL_POLLED_BLOCKS 2000
#endif
/* For the thread to get to the first change, at most; unit: ns; shows: burst-pace */
#ifndef CS_MODEL_POLLED_START_NS
#define CS_MODEL_POLLED_START_NS 1000000
#endif
/* Polls that follow each other soon: fast code is through its trace early; unit: polls; shows: burst-pace */
#ifndef CS_MODEL_POLLS_DENSE
#define CS_MODEL_POLLS_DENSE 16
#endif
/* From one of those to the next; unit: ns; shows: burst-pace */
#ifndef CS_MODEL_POLLS_DENSE_NS
#define CS_MODEL_POLLS_DENSE_NS 4000
#endif
/* Later ones follow by one part in so many of the time so far: slow code takes longer; unit: part; shows:
 * burst-pace */
#ifndef CS_MODEL_POLLS_SPARSE
#define CS_MODEL_POLLS_SPARSE 8
#endif

/* ---- intervals between polls (trace_position.c) ---- */
/* This much of a thread's run is its beginning; unit: ns; shows: burst-pace */
#ifndef CS_MODEL_START_NS
#define CS_MODEL_START_NS 8000
#endif
/* An interval from the beginning ends by then, where there is a later one; unit: ns; shows: burst-pace */
#ifndef CS_MODEL_EARLY_NS
#define CS_MODEL_EARLY_NS 40000
#endif
/* From when on a thread runs as it always does, its pages having been read before; unit: ns; shows:
 * burst-pace */
#ifndef CS_MODEL_WARM_NS
#define CS_MODEL_WARM_NS 8000
#endif
/* The same where they were not: slower by a tenth up to 0.1 ms; unit: ns; shows: burst-pace */
#ifndef CS_MODEL_COLD_NS
#define CS_MODEL_COLD_NS 25000
#endif
/* A thread that was seen first after so many is warm; unit: instructions; shows: burst-pace */
#ifndef CS_MODEL_WARM_INSTRUCTIONS
#define CS_MODEL_WARM_INSTRUCTIONS 30000
#endif
/* An interval that may be off by less is not worth to run the burst once more; unit: thousandths; shows:
 * burst-pace */
#ifndef CS_MODEL_INTERVAL_GOOD
#define CS_MODEL_INTERVAL_GOOD 80
#endif
/* One that may be off by more is none: nearly all are off by a third of what they may be; unit: thousandths;
 * shows: burst-pace */
#ifndef CS_MODEL_INTERVAL_TOLERABLE
#define CS_MODEL_INTERVAL_TOLERABLE 400
#endif
/* A thread that waited longer for a CPU, more than to wake up, shared it; unit: ns; shows: burst-pace */
#ifndef CS_MODEL_WAITED_NS
#define CS_MODEL_WAITED_NS 50000
#endif
/* Whose busiest branch says which group a trace belongs to; unit: instructions; shows: burst-pace */
#ifndef CS_MODEL_HOT_BRANCH_INSTRUCTIONS
#define CS_MODEL_HOT_BRANCH_INSTRUCTIONS 16000
#endif

/* ---- register snapshots (timing_samples.c) ---- */
/* The middle of a snapshot's positions counts while it may be off by one part in so many of the interval;
 * unit: part; shows: burst-pace */
#ifndef CS_MODEL_SNAPSHOT_TOLERANCE
#define CS_MODEL_SNAPSHOT_TOLERANCE 8
#endif
/* Of a fast trace, at least: room for two snapshots; unit: ns; shows: burst-pace */
#ifndef CS_MODEL_TRACE_NS
#define CS_MODEL_TRACE_NS 250000ULL
#endif
/* Of trace, at most; unit: bytes; shows: burst-hold */
#ifndef CS_MODEL_TRACE_ROOM
#define CS_MODEL_TRACE_ROOM (8ULL << 20)
#endif
/* Of a trace: its last snapshot comes later than that; unit: ns; shows: burst-pace */
#ifndef CS_MODEL_HALF_LEAST_NS
#define CS_MODEL_HALF_LEAST_NS 30000
#endif
/* Of a long one; source: half of CS_MODEL_TRACE_NS; unit: ns; shows: burst-pace */
#ifndef CS_MODEL_HALF_MOST_NS
#define CS_MODEL_HALF_MOST_NS 125000
#endif
/* Between two snapshots: the first one's interrupt takes some 30 us of that; source: a virtual machine;
 * unit: ns; shows: burst-pace */
#ifndef CS_MODEL_PAIR_LEAST_NS
#define CS_MODEL_PAIR_LEAST_NS 50000
#endif
/* Of a trace that tells how fast code is, at least; unit: bytes; shows: burst-pace */
#ifndef CS_MODEL_BYTES_TO_LEARN
#define CS_MODEL_BYTES_TO_LEARN (64 << 10)
#endif
/* What is later fell due in the kernel, or on a CPU that was taken away; source: a virtual machine; unit:
 * ns; shows: burst-pace */
#ifndef CS_MODEL_LATE_MOST_NS
#define CS_MODEL_LATE_MOST_NS 60000
#endif
/* The thread's way to its code, of the first snapshot's lateness: 13 us where snapshots were 13.5 us late,
 * 17 of 20, 9 of 11.5; source: two loops that log their turns, on a virtual machine; unit: tenths; shows:
 * burst-pace */
#ifndef CS_MODEL_LATE_TO_START
#define CS_MODEL_LATE_TO_START 9
#endif
/* What a snapshot takes of the thread's time, of its lateness: 1.8, quartiles 1.73 and 1.87; source: a loop
 * that looks for gaps in its time, on a virtual machine; unit: tenths; shows: burst-loss */
#ifndef CS_MODEL_LATE_TO_TAKEN
#define CS_MODEL_LATE_TO_TAKEN 18
#endif
/* What is known of a rate moves to a faster one by one part in so many; unit: part; shows: burst-pace */
#ifndef CS_MODEL_FASTER_PART
#define CS_MODEL_FASTER_PART 4
#endif
/* The same to a slower one; unit: part; shows: burst-pace */
#ifndef CS_MODEL_SLOWER_PART
#define CS_MODEL_SLOWER_PART 64
#endif

/* ---- cache warming (warm_caches.c, keep_cpu_awake.c) ---- */
/* For the walk through the trace, at most; unit: ns; shows: burst-hold */
#ifndef CS_MODEL_WARMING_WALK_NS
#define CS_MODEL_WARMING_WALK_NS 200000
#endif
/* From the beginning of the walk to the last page read, at most; unit: ns; shows: burst-hold */
#ifndef CS_MODEL_WARMING_WAIT_NS
#define CS_MODEL_WARMING_WAIT_NS 500000
#endif
/* Without a new page: there are hardly any more; unit: records; shows: burst-hold */
#ifndef CS_MODEL_WARMING_STALE
#define CS_MODEL_WARMING_STALE 4096
#endif
/* Others had our CPU for longer: less, now and then, is the kernel's own work; unit: ns; shows: burst-loss */
#ifndef CS_MODEL_DISPLACED_NS
#define CS_MODEL_DISPLACED_NS 500000
#endif
/* That the CPU is left alone for, after one in which others took ours; unit: bursts; shows: burst-loss */
#ifndef CS_MODEL_ALONE_MIN
#define CS_MODEL_ALONE_MIN 2
#endif
/* The same where they do again and again; unit: bursts; shows: burst-loss */
#ifndef CS_MODEL_ALONE_MAX
#define CS_MODEL_ALONE_MAX 64
#endif
