/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sampling periods, drawn at random so that no loop stays in step with them. In dcpi-1997 section 4.1.1 a period
 * was drawn for each sample, uniform over [15/16 P, P]. Through perf that costs more than the sample, because a
 * set period restarts the countdown. So one is drawn for every CS_RATE_PERIOD_REDRAW_NS, odd, uniform over
 * [15/16 P, 17/16 P] so that its mean is P. Pure. */
#pragma once

#include <stdint.h>

#define CS_RATE_PERIOD_REDRAW_NS 100000000ULL
/* ... but not before so many samples: what is left of a countdown is lost by each new one. */
#define CS_RATE_PERIOD_REDRAW_SAMPLES 64

struct cs_rate_period {
    uint64_t mean;
    uint64_t random; /* state of the generator, never 0 */
};

void cs_rate_period_init(struct cs_rate_period *period, uint64_t mean, uint64_t seed);
uint64_t cs_rate_period_draw(struct cs_rate_period *period);
/* When the next is due, for events that come every `mean_ns` on a busy CPU. */
uint64_t cs_rate_period_redraw_ns(uint64_t mean_ns);
