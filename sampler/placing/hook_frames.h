/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel frames between a tracepoint and our program on it. Their number depends on who else uses the tracepoint: the kernel
 * calls a single user directly, several through __traceiter_NAME. One owner. */
#pragma once

#include <stdint.h>

struct cs_hook_frames;

/* NULL: no memory. */
struct cs_hook_frames *cs_hook_frames_open(void);
void cs_hook_frames_close(struct cs_hook_frames *hook);

/* How many of the innermost of n kernel addresses are such frames. 0 where the kernel doesn't name its symbols to us. */
unsigned cs_hook_frames_count(struct cs_hook_frames *hook, const uint64_t *frames, unsigned n);
