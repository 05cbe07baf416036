/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many waits are recorded: T (wait_records.h) follows the rate of the records and the CPU time that they take. A larger T
 * only makes the recorded waits fewer, and the weight of each short one larger: no sum gets a bias. Pure. */
#pragma once

#include <stdint.h>

#define CS_WAIT_INTERVAL_NS 4000000U /* T at least: 250 records a second of waiting at most, of a thread */
#define CS_WAIT_INTERVAL_NS_MAX 1000000000U

struct cs_wait_rate {
    double records_max; /* a second */
    double cpu_max;     /* CPU seconds a second; 0: any */
};

/* The first T: where CPU time is bounded, a larger one until it is known what records cost. */
uint32_t cs_wait_first_interval(const struct cs_wait_rate *rate);
/* T for what comes: `records` and `cpu_s` were in the last `seconds`. It is raised at once as far as needed, and lowered by
 * halves, where both are below an eighth of what they may be. */
uint32_t cs_wait_interval(const struct cs_wait_rate *rate, uint32_t interval_ns, double seconds,
                          double records, double cpu_s);
