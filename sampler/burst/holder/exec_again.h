/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that becomes another program while we trace it. */
#ifndef CS_SAMPLER_BURST_HOLDER_EXEC_AGAIN_H
#define CS_SAMPLER_BURST_HOLDER_EXEC_AGAIN_H

#include <stdbool.h>
#include <stdint.h>

/* Is the thread on its way into another program, as far as the kernel says? Of one that is awake it doesn't: true. To be asked where
 * it could be seen before. */
bool exec_may_be_under_way(uint32_t tid);
bool exec_can_be_seen(uint32_t tid);
/* It stands before the first instruction of its new program. Detaches it, with the rights that the program's file
 * gives. */
void exec_detach(uint32_t tid);

#endif
