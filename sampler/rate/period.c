/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Periods: xorshift64*, uniform over [15/16 P, 17/16 P], odd where P is large enough. */
#include "sampler/rate/period.h"

#include <assert.h>

void cs_rate_period_init(struct cs_rate_period *period, uint64_t mean, uint64_t seed)
{
    period->mean = mean ? mean : 1;
    period->random = seed ? seed : 0x9E3779B97F4A7C15ULL;
}

uint64_t cs_rate_period_draw(struct cs_rate_period *period)
{
    uint64_t x = period->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    period->random = x;
    uint64_t width = period->mean / 8;
    if (width < 2)
        return period->mean;
    uint64_t drawn = period->mean - width / 2 + (x * 0x2545F4914F6CDD1DULL >> 20) % (width + 1);
    assert(drawn >= period->mean - width / 2 && drawn <= period->mean + width / 2 + 1);
    return drawn | 1;
}

uint64_t cs_rate_period_redraw_ns(uint64_t mean_ns)
{
    uint64_t samples_ns = mean_ns * CS_RATE_PERIOD_REDRAW_SAMPLES;
    return samples_ns > CS_RATE_PERIOD_REDRAW_NS ? samples_ns : CS_RATE_PERIOD_REDRAW_NS;
}
