/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is noted of a thread while it is stopped, and its call chain, worked out once it runs again. */
#pragma once

#include "image/unwind/step.h"
#include "sampler/timers/process_tables.h"

#define STOPPED_STACK_BYTES 65536 /* deeper callers are lost */

struct stopped_thread {
    struct cs_unwind_frame frame;
    uint64_t from; /* SP, or below it where functions may use that */
    size_t n;      /* bytes of the stack, from there up */
    char stack[STOPPED_STACK_BYTES];
};

/* Of a ptrace-stopped thread; `memory` is its process's /proc/PID/mem, -1: no stack is copied. False: its registers can't be
 * had, or are a 32-bit program's. */
bool stopped_thread_note(struct stopped_thread *stopped, pid_t tid, int memory);
/* pcs[0] is the thread's own, then return addresses. Returns how many, at least 1. */
size_t stopped_thread_chain(const struct stopped_thread *stopped, const struct process_tables *tables,
                            uint64_t *pcs, size_t room, enum cs_unwind_end *end);
