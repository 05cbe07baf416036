/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of waits shorter than T, records are as many as time was waited over T: twice the T, half the records. */
#include "sampler/waits/record_rate.h"

#include <assert.h>

#define FIRST_IF_BOUNDED 16

uint32_t cs_wait_first_interval(const struct cs_wait_rate *rate)
{
    return rate->cpu_max > 0 ? CS_WAIT_INTERVAL_NS * FIRST_IF_BOUNDED : CS_WAIT_INTERVAL_NS;
}

uint32_t cs_wait_interval(const struct cs_wait_rate *rate, uint32_t interval_ns, double seconds,
                          double records, double cpu_s)
{
    assert(seconds > 0 && rate->records_max > 0);
    double over = records / (seconds * rate->records_max);
    if (rate->cpu_max > 0 && cpu_s / (seconds * rate->cpu_max) > over)
        over = cpu_s / (seconds * rate->cpu_max);
    if (over < 0.125 && interval_ns > CS_WAIT_INTERVAL_NS)
        return interval_ns > 2 * CS_WAIT_INTERVAL_NS ? interval_ns / 2 : CS_WAIT_INTERVAL_NS;
    for (; over > 1 && interval_ns < CS_WAIT_INTERVAL_NS_MAX; over /= 2)
        interval_ns = interval_ns < CS_WAIT_INTERVAL_NS_MAX / 2 ? interval_ns * 2 : CS_WAIT_INTERVAL_NS_MAX;
    assert(interval_ns <= CS_WAIT_INTERVAL_NS_MAX);
    return interval_ns;
}
