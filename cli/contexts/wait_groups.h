/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording's waits, put together by what was waited for and where: what `waits` and `prof --wall` show. */
#ifndef CS_CLI_CONTEXTS_WAIT_GROUPS_H
#define CS_CLI_CONTEXTS_WAIT_GROUPS_H

#include "analysis/contexts/calls.h"
#include "store/dictionary.h"

struct wait_total { /* a thing that threads' time went to */
    const char *what;
    uint64_t ns, count;
};

struct wait_top { /* of several texts the one with most time */
    const char *text;
    uint64_t ns;
    unsigned n; /* texts */
};

struct wait_thread {
    const char *name;
    uint64_t pid, tid;
    uint64_t all_ns, on_ns, stolen_ns, run_queue_ns; /* the rest it waited */
    struct wait_total *totals;                       /* by what, exact */
    size_t n, capacity;
};

#define WAIT_BINS 64
struct wait_group {
    const char *kind;  /* "mutex", "condition", "pipe", "run-queue", ... */
    const char *where; /* innermost function that is the program's own, with its image */
    const struct cs_call_function *function; /* NULL: the chain has none */
    const char *via;                         /* the C library's function, or the system call; "" */
    uint64_t ns, count, longest_ns;
    uint64_t bins[WAIT_BINS]; /* waits by the logarithm of their length */
    struct wait_top thread, object, waker, blame;
    uint64_t blamed_ns;          /* all of blame */
    bool of_lock, of_descriptor; /* what the kernel's part calls it */
};

struct wait_groups {
    struct wait_group *at; /* most time first; those that wait for work last */
    size_t n, capacity;
    struct wait_total *totals; /* most first; they add up to all threads' time */
    size_t n_totals, totals_capacity;
    struct wait_thread *threads; /* longest first */
    size_t n_threads, threads_capacity;
    uint64_t all_ns;
    /* The rest is internal. */
    struct cs_calls waits, wakers;
    struct cs_dictionary texts;
};

/* Of what the store sees. -ENOENT with a sentence where there are no waits. */
int wait_groups_open(struct wait_groups *groups, struct cs_store *store, const struct cs_calls_wanted *wanted,
                     struct cs_error *err);
void wait_groups_close(struct wait_groups *groups);

/* Whether it is a wait for something to do, not within something. */
bool wait_is_idle(const char *kind);
/* Half of the waits were shorter, in ns. */
double wait_median_ns(const struct wait_group *group);

#endif
