/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose programs may be followed by bursts. A runner repeats the program's loads and stores with the
 * profiler's rights, so a program that has fewer could gain them by taking the runner over: it is refused. */
#ifndef CS_SAMPLER_BURST_RIGHTS_H
#define CS_SAMPLER_BURST_RIGHTS_H

#include "store/error.h"

#include <sys/types.h>

/* 0 when the process has all the rights of the profiler: the same user in the same user namespace, and no
 * capability less. -EPERM with a sentence when it has not, -ESRCH when it is gone. Asked again whenever a
 * thread stands (runner/rights.c): a program may give rights up at any time. Any thread. */
int cs_burst_rights(pid_t pid, struct cs_error *err);

#endif
