/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes that bursts follow: a runner for each that was met twice. By one thread.
 *
 * Runners are bounded in number and in bytes. The one that was followed longest ago gives way. A process that
 * ends takes its runner with it. */
#pragma once

#include "sampler/burst/burst_length.h"
#include "sampler/burst/runner_process.h"
#include "sampler/burst/timing_share.h"

struct cs_burst_followed {
    pid_t pid;
    int ended_fd; /* readable when it has ended; -1: nobody tells (before Linux 5.3), or no runner */
    uint64_t first_ns, used_ns, denied_until_ns;
    enum cs_burst_skip denied_why;
    unsigned failures; /* of its runners, one after the other */
    struct cs_burst_runner *runner;
    struct cs_burst_length length;
    struct cs_burst_timing_share timing;
    double runner_cpu_us; /* charged up to here */
};

#define CS_BURST_FOLLOWED_MAX 32
struct cs_burst_processes {
    bool at_once; /* set by the caller: no process is too new */
    int watch_fd; /* readable when one of them has ended, or the caller's descriptor is readable */
    uint64_t bytes_max, bytes, counted_ns;
    unsigned runners;
    double ended_cpu_us; /* of runners that were ended, not charged yet */
    struct cs_burst_followed at[CS_BURST_FOLLOWED_MAX];
};

/* -errno when there are no descriptors. */
int cs_burst_processes_open(struct cs_burst_processes *processes, int wake_fd, uint64_t bytes_max);
/* Ends the runners of processes that have ended, counts the others and what they take, and ends those that
 * are too much. To be called whenever watch_fd is readable, and now and then. */
void cs_burst_processes_tidy(struct cs_burst_processes *processes);

/* The process, with a runner; NULL when it has none yet, or can't have one, and *why says what to count it
 * under. `may_start`: the budget allows for a runner's start. *started: its runner is new. One that is new takes the
 * place of the process that was used longest ago. */
struct cs_burst_followed *cs_burst_follow(struct cs_burst_processes *processes, pid_t pid, bool may_start,
                                          enum cs_burst_skip *why, bool *started);
/* No runner for this process for a while; its triggers meanwhile are counted under the same cause. */
void cs_burst_followed_deny(struct cs_burst_followed *followed, enum cs_burst_skip why);
/* The same because its runner failed: on a machine whose CPUs are taken away for long that happens to good ones, so
 * the while is a second after the first failure, twice as long after each more. */
void cs_burst_followed_failed(struct cs_burst_followed *followed, enum cs_burst_skip why);
/* From now on it counts as one that was met for the first time. */
void cs_burst_followed_begin(struct cs_burst_followed *followed);
void cs_burst_unfollow(struct cs_burst_processes *processes,
                       struct cs_burst_followed *followed); /* ends its runner */
/* CPU time that all runners took since the last call, us, those that have ended included. */
double cs_burst_processes_cpu_us(struct cs_burst_processes *processes);
void cs_burst_processes_close(struct cs_burst_processes *processes);
