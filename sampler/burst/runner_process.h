/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One burst runner: a child process that follows the threads of one target process. The interface behind
 * which the way of following can be replaced: "stop this thread, tell what its next N instructions do".
 *
 *     cs_burst_runner_open(pid, &runner, &err);
 *     const struct cs_burst_shared *answer = cs_burst_runner_go(runner, &command, &err);
 *     cs_burst_runner_close(runner);
 *
 * What a runner is and why it is so: sampler/burst/runner/runner.h. x86-64 only. One thread at a time;
 * nothing here prints. */
#pragma once

#include "sampler/burst/wire.h"
#include "store/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct cs_burst_runner;

/* Starts the runner for a process; *cpu_us is CPU time that was spent on one that failed. -ESRCH: no such process; -EACCES, -EPERM: not permitted to read its
 * memory; -ENOSYS: not on this machine. */
int cs_burst_runner_open(pid_t pid, struct cs_burst_runner **out, double *cpu_us, struct cs_error *err);
/* Asks for one burst and waits for it. NULL, with a sentence, when the runner is broken (it is then useless:
 * close it); a burst that there couldn't be is an answer with its `skip`. Rows are valid until the next call.
 */
const struct cs_burst_shared *cs_burst_runner_go(struct cs_burst_runner *runner,
                                                 const struct cs_burst_command *command,
                                                 struct cs_error *err);
/* Processes of the runner, the one that holds threads and the one that runs foreign code (0: none), to account
 * for their memory. */
pid_t cs_burst_runner_pid(const struct cs_burst_runner *runner);
pid_t cs_burst_runner_replayer(const struct cs_burst_runner *runner);
/* CPU time of both so far, in us. */
double cs_burst_runner_cpu_us(struct cs_burst_runner *runner);
/* Returns that time when both have ended. */
double cs_burst_runner_close(struct cs_burst_runner *runner);

const char *cs_burst_cause_name(unsigned cause);
const char *cs_burst_cause_sentence(unsigned cause);
const char *cs_burst_skip_name(unsigned skip);
const char *cs_burst_skip_sentence(unsigned skip);
