/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The chosen processes and all that they start, known in the kernel, so that events of CPUs serve for them. Events of
 * threads cost at every switch between threads, and one that ends before its first period is over is never sampled.
 * Needs the rights that events of CPUs need. */
#pragma once

#include "store/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct cs_process_filter;

/* Nobody is chosen yet. -EPERM, -EACCES, -ENOTSUP and others with a sentence where it can't be had. */
int cs_process_filter_open(struct cs_process_filter **out, struct cs_error *err);
void cs_process_filter_close(struct cs_process_filter *filter);

/* A process and all below it. Returns how many processes these are now; 0: it is gone. */
int cs_process_filter_choose(struct cs_process_filter *filter, pid_t pid);
/* A process from its next exec on. */
void cs_process_filter_choose_at_exec(struct cs_process_filter *filter, pid_t pid);

/* Keeps samples of others out of an event's ring. 0 or -errno. */
int cs_process_filter_attach(const struct cs_process_filter *filter, int fd);
/* The bytes (process_bytes.h), as a map for other BPF programs. */
int cs_process_filter_map(const struct cs_process_filter *filter);
