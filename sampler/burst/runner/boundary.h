/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory that holder and replayer share, and who believes what.
 *
 *     holder: fill ask, question++ ──► replayer: do it, fill told, answer = question ──► holder: read
 *
 * Both words are futexes. On a machine of few CPUs the two take turns on one of them, while the stopped
 * thread's own stays free.
 *
 * The replayer ran foreign code. So to the holder everything here is what a stranger wrote: it copies a value
 * once, bounds it, and only then uses it. Addresses from here serve for nothing but reading the target's own
 * memory, which the replayer can read itself. The holder never reads back what it wrote here. The replayer
 * may believe the holder. */
#pragma once

#include "sampler/burst/runner/runner.h"

enum region_kind { REGION_FILE, REGION_ANONYMOUS, REGION_STACK, REGION_CLOCK, REGION_VDSO, REGION_DEVICE };
struct region { /* of the target's memory map */
    uint64_t start, end;
    uint64_t identity; /* changes with file, position in the file and permissions */
    bool r, w, x, shared;
    bool
        may_wait; /* of a file on a mount whose server may never answer: pages that are there are read, no others */
    uint8_t kind;
};
static inline uint64_t region_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
    return hash ^ hash >> 29;
}

#define POLLED_WORDS_MAX 12
#define POLLS_MAX 40
struct polled_word {
    uint64_t addr, before, after; /* what it held when the thread stood, and at the trace's end */
};
struct poll {
    uint32_t begin_ns, end_ns; /* since the thread was let go */
    uint64_t value[POLLED_WORDS_MAX];
};
struct polled_words {
    unsigned n_words, n_polls;
    bool warm;                     /* the thread's caches are as they were before it was stopped */
    uint64_t released, ticks_a_us; /* TSC */
    struct polled_word word[POLLED_WORDS_MAX];
    struct poll poll[POLLS_MAX];
};

#define SNAPSHOTS_MAX 2
#define STACK_WORDS 64
struct snapshot { /* in: a thread's registers at one time. out: where in the trace that may be */
    uint64_t pc, time_ns;
    uint64_t reg[16], word[STACK_WORDS]; /* words of the stack, from its top */
    uint32_t n_words;
    uint64_t first, last; /* instructions before it */
    uint32_t n;           /* places; 0: none */
    uint32_t visits;      /* of its PC */
    uint32_t known;       /* registers compared at each of them, bit = number */
};

#define WARM_PAGES_MAX 256
struct warm_pages { /* to be read on the stopped thread's CPU; grows while the other side reads */
    uint32_t asked;
    uint64_t page[WARM_PAGES_MAX];
};

#define STEPS_MAX 65536
struct steps { /* of one block, for verify: its first instruction, and those that follow or the last alone */
    uint64_t pc, at[3];
    uint8_t n; /* of `at` */
    bool branch, straight;
};

enum replay_kind {
    REPLAY_START,   /* are you there? */
    REPLAY_PREPARE, /* a burst will come: by today's map, in which all pages? */
    REPLAY_RUN,     /* the thread stands: what does it do? */
    REPLAY_FINISH,  /* it went, and was seen so: rows */
    REPLAY_FORGET,  /* it is gone */
    REPLAY_REST,    /* there is nothing to do for a while: give memory back */
};

#define XSTATE_MAX 16384
#define REGIONS_MAX 32768
#define KEPT_MAX 16384
struct replay_ask {
    uint32_t kind;
    bool map_changed, timed, verify;
    bool warming, elsewhere, polled; /* pages are read; our CPU isn't the thread's; words were polled */
    uint32_t n_regions, n_snapshots;
    uint64_t deadline, ticks_a_us; /* TSC */
    struct registers registers;
    uint64_t xstate_bytes;
};
struct replay_told {
    bool taken;     /* of PREPARE: the target uses the replayer's addresses */
    uint32_t cause; /* of RUN from here on; enum cs_burst_cause */
    uint64_t next;  /* address where it stopped */
    uint32_t pages_faulted, blocks_translated, n_steps;
    uint64_t warming_since;          /* TSC */
    uint32_t period_ns, n_snapshots; /* how to look at the thread that goes; or poll words, */
    bool poll;                       /* which stand in `polled` */
};

struct boundary {
    uint32_t question, answer; /* numbers */
    struct replay_ask ask;
    struct replay_told told;
    struct polled_words polled; /* of RUN: words; of FINISH: what they held */
    struct snapshot snapshots[SNAPSHOTS_MAX];
    struct warm_pages warm;
    uint8_t xstate[XSTATE_MAX] __attribute__((aligned(64)));
    struct region regions[REGIONS_MAX];
    /* Pages that the replayer wants of a thread that stands, beside those that it doesn't have yet. */
    uint32_t n_kept;
    uint64_t kept[KEPT_MAX]; /* addresses */
    uint8_t kept_there[KEPT_MAX];
    struct steps steps[STEPS_MAX];
    struct cs_burst_shared rows; /* its outcome and rows; the command is the holder's */
    uint8_t page[KEPT_MAX][PAGE] __attribute__((aligned(4096)));
};
#define BOUNDARY_AT (image_start + 0x34000000ULL)
#define BOUNDARY_BYTES_MAX 0x8000000ULL
_Static_assert(sizeof(struct boundary) <= BOUNDARY_BYTES_MAX, "beside it lie other things");
#define boundary ((struct boundary *)BOUNDARY_AT)
