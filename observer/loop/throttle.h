/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Period control: waits until the next sample is due. Long waits sleep, and the last stretch spins with
 * pauses, because a sleeper wakes late by tens of microseconds. With jitter each period is drawn from
 * [period, period + jitter]. One in 32 is short, at most a quarter of that. The sink measures the achieved distribution
 * in any case. */
#pragma once

#include "observer/loop/loop.h"

#include <stdint.h>

/* Waits that long are slept (in part); below, the line is left alone by pausing. */
#define CS_SLEEP_CYCLES 500000

static inline uint64_t cs_jitter(uint64_t *random, uint64_t jitter_cycles)
{
    uint64_t r = *random; /* xorshift64, Marsaglia 2003 */
    r ^= r << 13;
    r ^= r >> 7;
    r ^= r << 17;
    *random = r;
    return (uint64_t)((unsigned __int128)r * (jitter_cycles + 1) >> 64);
}

/* Returns when the sample after the one that started at `from` is due, or when asked to stop. */
void cs_throttle(struct cs_loop *l, uint64_t from);
