/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at the thread that was let go. */
#pragma once

#include "sampler/burst/runner/boundary.h"

void watch_open(uint32_t tid); /* before the thread is seized; if it fails what writes nothing isn't timed */
void watch_begin(const struct replay_told *told, uint64_t ticks_a_us); /* the thread is about to go */
void watch_thread(uint32_t tid); /* it went; returns when it was seen often enough */
void watch_close(void);
