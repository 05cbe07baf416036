/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads by their number: whose they are and how they are called now. Filled from the kernel's records, and from
 * /proc for those that were there before. Bounded: threads that ended go when there are too many. One owner. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cs_threads;
struct cs_threads *cs_threads_open(const char *proc);
void cs_threads_close(struct cs_threads *threads);

void cs_threads_born(struct cs_threads *threads, pid_t tid, pid_t pid,
                     pid_t parent_tid); /* its name: the parent's */
/* From `time_ns` on; 0 where that isn't known. */
void cs_threads_named(struct cs_threads *threads, pid_t tid, pid_t pid, const char *name, uint64_t time_ns);
void cs_threads_ended(struct cs_threads *threads, pid_t tid);

/* Whose it is; 0 = nobody knows. */
pid_t cs_threads_process(struct cs_threads *threads, pid_t tid);
/* When it first got another name after `from_ns`, up to `to_ns`; 0: not at all. */
uint64_t cs_threads_renamed(struct cs_threads *threads, pid_t tid, uint64_t from_ns, uint64_t to_ns);
/* "name (tid)", with the name that it had at `time_ns`. */
void cs_threads_text(struct cs_threads *threads, pid_t tid, uint64_t time_ns, char *text, size_t size);
