/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The traced threads. One owner. */
#pragma once

#include "sampler/count/tally.h"
#include "store/base/array.h"

#define CS_COUNT_HANDLERS_MAX 64 /* that a thread is in */

struct cs_count_handler {
    uint64_t frame;
    char scratch[CS_COUNT_SCRATCH];
};

struct cs_count_thread {
    pid_t tid;
    struct cs_count_space *space; /* NULL: has none yet */
    uint64_t gs;
    bool stopped;       /* has no space yet, and waits for its parent's event */
    bool in_call, exec; /* exec: it has another program, and its call is about to return */
    bool stepping;      /* into a handler */
    uint64_t call, argument[3];
    struct cs_count_handler handler[CS_COUNT_HANDLERS_MAX];
    unsigned n_handlers;
};

struct cs_counting {
    CS_ARRAY(struct cs_count_thread *) threads;
    struct cs_images *images;
    struct cs_count_tally tally;
    struct cs_count_summary *summary;
    struct cs_error *err;
    pid_t command;
};

struct cs_count_thread *cs_count_thread(const struct cs_counting *c, pid_t tid); /* NULL: unknown */
/* NULL, with a sentence: no memory. */
struct cs_count_thread *cs_count_thread_add(struct cs_counting *c, pid_t tid);
void cs_count_thread_remove(struct cs_counting *c, struct cs_count_thread *t);
void cs_count_thread_leave_space(struct cs_count_thread *t);
/* A cs_count_call; `arg` is the thread's ID. */
int64_t cs_count_call_in(void *arg, uint64_t at, long number, const uint64_t argument[6]);
/* It has a handler for the signal. */
bool cs_count_is_caught(const struct cs_count_thread *t, int signal);
/* Until its next system call or signal. 0 or negative errno; that it is gone is no failure. */
int cs_count_go_on(struct cs_count_thread *t, int signal);
