/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is sampled: a command that waits for its start, a process with its threads, or everything. */
#pragma once

#include "store/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* A forked child that waits before its exec until it is let go. */
struct cs_waiting_command {
    pid_t pid;
    int go;     /* write end: closing it unwritten makes the child exit */
    int failed; /* read end: errno of a failed exec; end of file after a good one */
    int pidfd;
    int status;         /* of wait, -1 = still running */
    double cpu_seconds; /* its own and of children that it waited for; once it has ended */
};

/* `environment`: variables that it gets beside ours, NAME=VALUE, NULL at the end; NULL: none. */
int cs_waiting_command_open(struct cs_waiting_command *command, char *const *argv, char *const *environment,
                            struct cs_error *err);
/* Lets it exec; -ENOENT, -EACCES ... with a sentence when that fails. */
int cs_waiting_command_go(struct cs_waiting_command *command, const char *name, struct cs_error *err);
/* True once it has ended (then it has been waited for). */
bool cs_waiting_command_ended(struct cs_waiting_command *command);
void cs_waiting_command_close(struct cs_waiting_command *command);

/* Threads of a process, as /proc lists them. Allocated; -ESRCH with a sentence. Returns their number. */
int cs_threads_of(pid_t pid, pid_t **threads, struct cs_error *err);
/* Threads of a process and of those that it has started and they have, added to a list of n, which grows
 * (NULL: none yet). Returns how many there are then. */
int cs_threads_below(pid_t pid, pid_t **threads, int n);
/* A process and all that it has started and they have. Allocated where it returns more than 0. Returns how many. */
int cs_processes_below(pid_t pid, pid_t **processes);
/* pidfd_open; -1 when it can't be had. */
int cs_pidfd(pid_t pid);
