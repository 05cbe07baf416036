/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's records in addition to samples: MMAP2, FORK, EXEC, COMM, EXIT. They come from one ring a
 * CPU, and are handed on in the order of their times over all CPUs.
 *
 * Invariant: a record is handed on only when no earlier one can still arrive. So the horizon asked for must
 * be at least CS_RING_SETTLE_NS in the past. Later ones wait for the next call. */
#pragma once

#include "sampler/images/maps.h"
#include "sampler/perf/cpus.h"

struct cs_sideband;

struct cs_sideband_events {
    void *arg;
    struct cs_maps *maps;
    void (*incarnation)(void *arg, pid_t pid, uint64_t time_ns); /* fork or exec; may be NULL */
    void (*kernel_changed)(void *arg); /* code of the kernel came or went; may be NULL */
};

struct cs_sideband *cs_sideband_open(const struct cs_cpus *cpus); /* theirs as long as it is open */
void cs_sideband_close(struct cs_sideband *sideband);
/* Follows a process's thread (`pid` as in perf_event_open) on CPU number `cpu_index` of those given. */
int cs_sideband_follow(struct cs_sideband *sideband, pid_t pid, unsigned cpu_index, unsigned ring_pages,
                       struct cs_error *err);
/* That CPU has gone; its records have been drained. */
void cs_sideband_unfollow(struct cs_sideband *sideband, unsigned cpu_index);
/* For records of all (pid -1): only those of chosen processes and of what they start from then on count. -ENOMEM. */
int cs_sideband_only_chosen(struct cs_sideband *sideband);
void cs_sideband_choose(struct cs_sideband *sideband, pid_t pid);
/* Hands on what happened up to `horizon_ns`; UINT64_MAX: all. 0 or -ENOMEM. */
int cs_sideband_drain(struct cs_sideband *sideband, uint64_t horizon_ns,
                      const struct cs_sideband_events *events);
/* An event that writes no records of its own (its samples are a BPF program's): the kernel's about it go here. */
void cs_sideband_hear(struct cs_sideband *sideband, int fd, unsigned cpu_index);
/* Times that the kernel stopped such an event until its next tick. */
uint64_t cs_sideband_throttled(const struct cs_sideband *sideband);
uint64_t cs_sideband_lost(const struct cs_sideband *sideband);
/* A descriptor of each ring, for poll: readable at half full. -1 at the end. */
int cs_sideband_fd(const struct cs_sideband *sideband, unsigned i);
