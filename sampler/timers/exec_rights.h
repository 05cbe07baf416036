/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that get rights from their file get none while somebody traces them who may not trace everybody. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The thread, which we trace, stands at PTRACE_EVENT_EXEC. True: it was detached, and starts that program once more, with the rights of
 * its file. False: we trace it still, for it loses none, or made no system call in time. Takes a second at most: the others wait for us.
 * x86-64. */
bool exec_let_go(pid_t tid);
