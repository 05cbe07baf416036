/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that becomes another program while we trace it: it stands before the first instruction of that program (PTRACE_EVENT_EXEC),
 * traced with PTRACE_O_TRACESYSGOOD. Part of the runner, and of the profiler itself (sampler/timers/). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Is the thread on its way into another program, as far as the kernel says? Of one that is awake it doesn't: true. To be asked where
 * it could be seen before. */
bool exec_may_be_under_way(uint32_t tid);
bool exec_can_be_seen(uint32_t tid);
/* Has its program's file rights to give that it doesn't get, for we trace it and may not trace everybody? Also where that can't be
 * seen. */
bool exec_takes_rights(uint32_t tid);
/* Detaches it, with the rights that the program's file gives. False: it runs, traced: a signal interrupted us. */
bool exec_detach(uint32_t tid);
