/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording's waits, put together by what was waited for and where.
 *
 * Files of this room:
 *   wait_groups   this header: all waits of a store
 *   wall          threads' time on and off the CPU, by function
 *   wait_changes  two sides of runs compared
 *   critical_path  what a thread's time was really spent on, through the threads that it waited for
 */
#ifndef CS_ANALYSIS_WAITS_WAIT_GROUPS_H
#define CS_ANALYSIS_WAITS_WAIT_GROUPS_H

#include "analysis/contexts/calls.h"
#include "store/dictionary.h"

struct cs_wait_total { /* a thing that threads' time went to */
    const char *what;
    uint64_t ns, count;
};

struct cs_wait_top { /* of several texts the one with most time */
    const char *text;
    uint64_t ns;
    unsigned n; /* texts */
};

struct cs_waiting_thread {
    const char *name;
    uint64_t pid, tid;
    uint64_t all_ns, on_ns, stolen_ns, run_queue_ns; /* the rest it waited */
    struct cs_wait_total *totals;                    /* by what, exact */
    size_t n, capacity;
};

#define CS_WAIT_BINS 64
struct cs_wait_group {
    const char *kind;  /* "mutex", "condition", "pipe", "run-queue", ... */
    const char *where; /* innermost function that is the program's own, with its image */
    const struct cs_call_function *function; /* NULL: the chain has none */
    const char *via;                         /* the C library's function, or the system call; "" */
    uint64_t ns, count, longest_ns;
    uint64_t bins[CS_WAIT_BINS]; /* waits by the logarithm of their length */
    struct cs_wait_top thread, object, waker, blame;
    uint64_t blamed_ns;          /* all of blame */
    bool of_lock, of_descriptor; /* what the kernel's part calls it */
};

struct cs_wait_groups {
    struct cs_wait_group *at; /* most time first; those that wait for work last */
    size_t n, capacity;
    struct cs_wait_total *totals; /* most first; they add up to all threads' time */
    size_t n_totals, totals_capacity;
    struct cs_waiting_thread *threads; /* longest first */
    size_t n_threads, threads_capacity;
    uint64_t all_ns, on_ns, stolen_ns; /* of all threads, exact; the rest they waited */
    /* The rest is internal. */
    struct cs_calls waits, wakers;
    struct cs_dictionary texts;
};

/* Of what the store sees. -ENOENT with a sentence where there are no waits. */
int cs_wait_groups_open(struct cs_wait_groups *groups, struct cs_store *store,
                        const struct cs_calls_wanted *wanted, struct cs_error *err);
void cs_wait_groups_close(struct cs_wait_groups *groups);

/* Neither the kernel's nor the C library's. */
bool cs_wait_is_own(const struct cs_call_function *function);
/* The function on whose account a node of call chains is: the innermost of its own. NULL:
 * there is none. `via` (may be NULL): the outermost of the C library's below it. */
const struct cs_call_function *cs_wait_place(const struct cs_calls *calls, uint32_t node,
                                             const struct cs_call_function **via);

/* The outermost function of its own: where a thread began. NULL: there is none. Whether the
 * chain is that of a process's first thread. */
const struct cs_call_function *cs_wait_root(const struct cs_calls *calls, uint32_t node, bool *first_thread);
/* Whether a program's own code is on the chain: not a CPU that idles, nor a thread of the kernel. */
bool cs_wait_is_program(const struct cs_calls *calls, uint32_t node);
/* What a row of waits is called: a reason; of a lock what the C library calls it. It is one of the arguments' or lives for ever. */
const char *cs_wait_kind(const struct cs_calls *waits, const char *reason, uint64_t context,
                         const char *object);
/* Whether it is a wait for something to do, not within something. */
bool cs_wait_is_idle(const char *kind);
/* "TEXT", "TEXT (+2)" where there are others, ""; of blame with its share: "TEXT (98 %)". */
void cs_wait_top_text(const struct cs_wait_top *top, char *text, size_t size);
void cs_wait_meanwhile_text(const struct cs_wait_group *group, char *text, size_t size);
/* Half of the waits were shorter, in ns. */
double cs_wait_median_ns(const struct cs_wait_group *group);

#endif
