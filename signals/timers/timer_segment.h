/* SPDX-License-Identifier: MIT */
/* Where a program's own CPU-time timers, or who stops its threads, write samples, and who profiles it reads them.
 *
 * Files of this module:
 *   timer_segment     this layout
 *   timers            the library that is preloaded into the program
 *   cyclescope_timers  what a program may include
 *   filters           whether a thread is, or will be, under a filter of system calls
 *   stack_frames      a walk over frame pointers
 *
 * One file, mapped by all processes of a profiled command and by their profiler: a ring of slots of one size.
 *
 *      writer (a signal handler of any thread)             reader (one)
 *      head - tail >= slots: dropped += 1, done            slot of tail: sequence == tail + 1 ?
 *      compare-and-swap head to head + 1                   copy it, then tail += 1
 *      fill the slot of the old head                       else it is being written, or its writer was killed:
 *      sequence = old head + 1 (release)                   after a while tail += 1, a loss
 *
 * The reader trusts nothing here: it knows the geometry by itself, and bounds what a slot says. */
#ifndef CS_SIGNALS_TIMERS_TIMER_SEGMENT_H
#define CS_SIGNALS_TIMERS_TIMER_SEGMENT_H

#include <stdint.h>

#define CS_TIMER_MAGIC 0x73656d6974736331ULL
#define CS_TIMER_SLOTS                                                                                       \
    16384u /* 8 MB, of which only what is used has pages; a second of 64 busy CPUs at 250 Hz */
#define CS_TIMER_FRAMES 56u
#define CS_TIMER_PATH 416u
#define CS_TIMER_WEIGHT_MAX 1024u

/* What a program started under `record` finds in its environment. */
#define CS_TIMER_VARIABLE                                                                                    \
    "CYCLESCOPE_TIMERS" /* "N:PATH": filters of system calls of `record` itself; the segment */

enum cs_timer_kind {
    CS_TIMER_SAMPLE = 1, /* a thread has used cpu_ns since its last sample, and is at pc */
    CS_TIMER_BEGIN,      /* a program began in this process (exec); `path` is its name */
    CS_TIMER_FORK,       /* this process is a copy of process `tid` */
    CS_TIMER_FILTERED,   /* this thread goes under a filter of system calls: it has no samples from then on */
    CS_TIMER_MAP,        /* its executable mapping: start, end, file offset, path */
};

struct cs_timer_slot {
    uint64_t sequence; /* 1 + its number in the order of writing, last of all */
    uint64_t time_ns;  /* CLOCK_MONOTONIC */
    uint32_t pid, tid;
    uint32_t kind, n_frames;
    uint64_t cpu_ns;
    uint64_t pc;
    union {
        uint64_t frames[CS_TIMER_FRAMES]; /* pc, then return addresses, innermost first */
        struct {
            uint64_t end, pgoff; /* pc is the start */
            uint64_t inode;
            uint32_t major, minor; /* of its device */
            char path[CS_TIMER_PATH];
        } map;
    } more;
    uint32_t chain_end; /* enum cs_unwind_end */
    uint32_t weight;    /* the sample stands for so many, CS_TIMER_WEIGHT_MAX at most; 0 is 1 */
    uint64_t unused;
};

struct cs_timer_segment {
    uint64_t magic;
    uint64_t period_ns; /* mean CPU time between two samples of a thread */
    uint32_t with_frames;
    uint32_t unused;
    uint64_t sample_ns; /* that a sample takes of the program's time, measured by who writes; 0: not */
    uint32_t unused_one[8];
    uint64_t head; /* a line of its own: writers */
    uint64_t dropped;
    uint64_t unused_too[6];
    uint64_t tail; /* a line of its own: the reader */
    uint64_t unused_three[7];
    struct cs_timer_slot slots[CS_TIMER_SLOTS];
};

_Static_assert(sizeof(struct cs_timer_slot) == 512, "a slot is eight lines");
_Static_assert(sizeof(struct cs_timer_segment) == 192 + 512ul * CS_TIMER_SLOTS, "the header is three lines");

#endif
