/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two clocks of the sampler: the time that all records and samples carry, and CPU time of one thread. */
#ifndef CS_SAMPLER_PERF_MONOTONIC_CLOCK_H
#define CS_SAMPLER_PERF_MONOTONIC_CLOCK_H

#include <stdint.h>

uint64_t cs_monotonic_ns(void);     /* CLOCK_MONOTONIC, as all times of the sampler */
double cs_thread_cpu_seconds(void); /* user and system time of the calling thread */

#endif
