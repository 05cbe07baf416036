/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording's waits, put together by what was waited for and where.
 *
 * Files of this module:
 *   wait_groups   this header: all waits of a store
 *   wait_texts    what reports say of them: texts, the first of all, medians
 *   wait_place    where a wait was, and what it is called
 *   wait_function  what one function says of the waits below it
 *   wait_reading  whether it is a wait, or idleness
 *   wait_bases    totals of several kinds, divided
 *   wait_peers    who waits at a place and ends waits there
 *   wait_rounds   readings of rows that depend on one another
 *   time_lines    what each thread did over time
 *   wall          threads' time on and off the CPU, by function
 *   wait_changes  two sides of runs compared
 *   path_waits    what threads of each kind waited for, for the next
 *   path_bound    what a function's half can save, for the next
 *   critical_path  what a thread's time was really spent on, through the threads that it waited for
 *   path_text     that as a sentence
 */
#pragma once

#include "analysis/contexts/calls.h"
#include "analysis/waits/wait_place.h"
#include "analysis/waits/wait_reading.h"
#include "store/table/dictionary.h"

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

struct
    cs_wait_length { /* waits of about one length: within a factor of two, and of one place, thread and waker */
    double ns;       /* their mean */
    uint64_t count;
};

#define CS_WAIT_BINS 64
#define CS_WAIT_BASES 4
struct cs_wait_group {
    const char *kind;  /* "mutex", "condition", "pipe", "run-queue", ... */
    const char *where; /* innermost function that is the program's own, with its image */
    const struct cs_call_function *function; /* NULL: the chain has none */
    const char *via; /* the C library's function, or the system call, that has most of the time; "" */
    uint64_t ns, count, longest_ns;
    uint64_t bins[CS_WAIT_BINS];    /* waits by the logarithm of their length */
    struct cs_wait_length *lengths; /* shortest first; their counts add up to `count` */
    size_t n_lengths, lengths_capacity;
    struct cs_wait_top thread, object, waker, blame, call; /* call: all that may be `via` */
    uint64_t blamed_ns;                                    /* all of blame */
    struct cs_wait_facts facts;
    enum cs_wait_reading reading;
    struct {
        uint64_t ns, count;
    } base[CS_WAIT_BASES]; /* what the kernel's part calls it, where it has one name for several kinds */
};

struct cs_wait_groups {
    struct cs_wait_group *at; /* most time first; then those that may be idle, and last the idle ones */
    size_t n, capacity;
    struct cs_wait_total *totals; /* most first; they add up to all threads' time */
    size_t n_totals, totals_capacity;
    struct cs_waiting_thread *threads; /* longest first */
    size_t n_threads, threads_capacity;
    uint64_t idle_ns, either_ns;       /* of the groups */
    uint64_t all_ns, on_ns, stolen_ns; /* of all threads, exact; the rest they waited */
    /* The rest is internal. */
    struct cs_calls waits, wakers;
    struct cs_dictionary texts;
};

/* Of what the store sees. -ENOENT with a sentence where there are no waits. */
int cs_wait_groups_open(struct cs_wait_groups *groups, struct cs_store *store,
                        const struct cs_calls_wanted *wanted, struct cs_error *err);
void cs_wait_groups_close(struct cs_wait_groups *groups);

/* What that thread did for most of its time; where the kernel's part has one name for several kinds, the kind that threads of this
 * name wait for most. NULL: it has no time. */
const char *cs_wait_mostly(const struct cs_wait_groups *groups, const struct cs_waiting_thread *thread);
/* "TEXT", "TEXT (+2)" where there are others, ""; of blame with its share: "TEXT (98 %)". */
void cs_wait_top_text(const struct cs_wait_top *top, char *text, size_t size);
void cs_wait_meanwhile_text(const struct cs_wait_group *group, char *text, size_t size);
/* Its function, else what it called; "" where neither is known. */
const char *cs_wait_where(const struct cs_wait_group *group);
/* What rounding left of a total that was divided among kinds. */
bool cs_wait_total_is_left_over(const struct cs_wait_total *total);
/* Where threads waited for most of their time that they weren't idle: the place that tells why. Waits for a CPU that others
 * had come first only if the recording's own threads had it: otherwise they are the machine's. Very many short waits come
 * before them, too. NULL: they didn't wait. */
const struct cs_wait_group *cs_wait_first(const struct cs_wait_groups *groups);
/* Waits of a kind that are so many and so short that the switches between threads cost more than the waits: two threads hand
 * something to and fro. */
bool cs_wait_is_switching(const struct cs_wait_groups *groups, const struct cs_wait_group *group);
/* All waits for a CPU, in ns; `own`: the recording's own threads had it for at least half of them. */
uint64_t cs_wait_for_cpu_ns(const struct cs_wait_groups *groups, bool *own);
/* "resolver in lookup", or "a CPU", for which all places count. Returns the ns of these waits. */
uint64_t cs_wait_what_text(const struct cs_wait_groups *groups, const struct cs_wait_group *group, char *text,
                           size_t size);
/* "threads waited longer than they ran (1.3 s on a CPU): 9.1 s for resolver in lookup (peer 10.0.0.2:53)". */
void cs_wait_first_text(const struct cs_wait_groups *groups, const struct cs_wait_group *group, char *text,
                        size_t size);
/* Half of the waits were shorter, in ns: the mean length of the waits in the middle, never beyond the longest. */
double cs_wait_median_ns(const struct cs_wait_group *group);
