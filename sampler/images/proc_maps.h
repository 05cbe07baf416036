/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc tells of processes: who there is, its name, its executable mappings. Depends on no other part; `proc` is
 * "/proc" but in tests. */
#pragma once

#include "sampler/images/images.h"

#define CS_PROC_PID_MAX (1 << 22) /* the kernel's own limit */

/* Name of `pid`; 0 or -errno. */
int cs_proc_command(const char *proc, pid_t pid, char *name, size_t size);
/* The user that a process acts as, (uid_t)-1 where that can't be known any more, and its number in its innermost namespace of
 * PIDs (may be NULL). Not by the owner of /proc/PID: that is root for each process that isn't dumpable. */
uid_t cs_proc_user(const char *proc, pid_t pid, pid_t *inner);
/* When it began, in the kernel's ticks: with its number, the process itself. 0: it has ended. */
uint64_t cs_proc_started(const char *proc, pid_t pid);
/* Calls `each` for each executable mapping of `pid` but [vsyscall], until one returns other than 0. That, or -errno. */
int cs_proc_mappings(const char *proc, pid_t pid, int (*each)(void *arg, const struct cs_mapped_file *file),
                     void *arg);
/* Calls `each` for every process there is. 0 or -errno. */
int cs_proc_processes(const char *proc, void (*each)(void *arg, pid_t pid), void *arg);
