/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that runs foreign code. */
#pragma once

#include "sampler/burst/runner/boundary.h"

/* Starts it, with the rights of that process or less. 0, or a code to die with. */
int replayer_start(struct cs_burst_shared *shared);
/* Has it do something: false when it is dead, or was killed because it took longer than so many ms. What it
 * told is bounded as far as types go. */
enum cs_burst_skip replayer_ask(enum replay_kind kind, uint32_t limit_ms, struct replay_told *told);
void replayer_end(void);
/* From now on it runs on the CPU of the calling thread, which will wait for it. */
void replayer_beside_us(void);
/* While a thread is held, and before it is, nobody takes the CPU away from the calling thread and from it, no
 * quota either: the stop would last until they have it again. Where it isn't allowed, it isn't. */
void replayer_real_time(bool on);
/* Has it give back what only bursts need. */
void replayer_rest(void);
