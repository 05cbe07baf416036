/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads: starting one of the runner's own, clocks, and what /proc tells of any. Times in ns. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

extern void *own_fs; /* what %fs points to while the runner's own code runs */
_Noreturn void die(int code);
void signal_return(void); /* what a signal handler returns to; never called */
/* A thread of ours with a stack of its own; *tid becomes 0, with a futex wake, when it has ended. */
void start_thread(int (*entry)(void), void *stack_top, volatile int32_t *tid);
uint64_t clock_of(clockid_t which);
void sleep_us(long us); /* less than a second */
/* "/proc/TID" + file, which is at most ten characters. */
void thread_path(uint32_t tid, const char *file, char path[32]);
/* That file (at most 40 characters) as text; false when the thread is gone. */
bool read_thread_file(uint32_t tid, const char *file, char *text, size_t size);
uint64_t waited_ns(uint32_t tid); /* time that a thread, able to run, has had no CPU; 0: unknown */
struct thread_place {
    bool asleep; /* in the kernel */
    uint64_t cpu, policy;
};
/* Where it is. False when it is gone. */
bool thread_place(uint32_t tid, struct thread_place *place);
