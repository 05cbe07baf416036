/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of threads, also of those that have ended since they were seen. One owner. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define THREAD_NAMES_MAX 4096 /* that are remembered */

struct thread_names {
    pid_t pid;
    unsigned n;
    struct thread_named {
        uint32_t tid;
        char name[16];
    } all[THREAD_NAMES_MAX];
};

/* Those of the threads that the process has now. */
void thread_names_read(struct thread_names *names, pid_t pid);
/* "worker 4711"; NULL: not known. Lives until the next call. */
const char *thread_names_text(const struct thread_names *names, uint64_t tid);
