/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The critical path of a thread: all of its time, divided among what was really being waited for. Yang, Miller, ICDCS
 * 1988, through sampled waits as wPerf (Zhou et al., OSDI 2018). While it ran that is what it ran; while another thread
 * had it wait, what that one did. Was that thread not followed, the wait stays the waiter's. What would be faster
 * shortens the thread's time by no more than its share here: another path may take over.
 *
 * Rows of a store are sums, not a log: a waiter is identified by its name and by where its thread began. What a thread
 * ran meanwhile, by the samples below the innermost function around the place where it ended the wait that has enough
 * of them. Of a thread that never waited nobody knows where it began. */
#pragma once

#include "analysis/waits/wait_groups.h"

struct cs_path_row {
    const char *what; /* "running", "stolen", cs_wait_kind, or "waiting" (why is unknown) */
    const struct cs_call_function *function; /* cs_wait_place's; NULL: none is known */
    const char *thread;                      /* who did that */
    double ns;
};

struct cs_path_function {
    const struct cs_call_function *function;
    double ns;       /* of the path, in it and in what it called or waited for */
    double saves_ns; /* if all of that took half its time */
};

struct cs_critical_path {
    struct cs_path_row *rows; /* most first; they add up to all_ns */
    size_t n, capacity;
    struct cs_path_function *functions; /* the program's own; most first; of those around all of it one */
    size_t n_functions, functions_capacity;
    const char *thread;
    unsigned n_threads; /* of that name */
    double all_ns;
    struct cs_dictionary texts; /* internal */
};

/* Of the threads called `thread` that aren't a process's first; NULL or where there are no others: of the longest
 * process's first thread. `wanted` is what the other two were opened with. Names live as long as both. -ENOENT with a sentence:
 * there is no such thread. */
int cs_critical_path_make(struct cs_critical_path *path, struct cs_store *store,
                          const struct cs_calls_wanted *wanted, const struct cs_wait_groups *waits,
                          struct cs_calls *running, const char *thread, struct cs_error *err);
void cs_critical_path_fini(struct cs_critical_path *path);

/* "34 % file in load (sha256sum), 21 % running in hash (sha256sum)": its rows of a tenth or more, three at most. "": none is. */
void cs_critical_path_text(const struct cs_critical_path *path, char *text, size_t size);
/* "sh's 1.31 s: 34 % file in ...", of the longest process's first thread and by the samples of `event`. "" where there
 * is one process: its waits say that. 0 or negative errno. */
int cs_critical_path_told(struct cs_store *store, const struct cs_wait_groups *waits, const char *event,
                          char *text, size_t size);
