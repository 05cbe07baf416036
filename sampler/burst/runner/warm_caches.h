/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the stopped thread will use is in its CPU's caches when it goes on. */
#ifndef CS_SAMPLER_BURST_RUNNER_WARM_CACHES_H
#define CS_SAMPLER_BURST_RUNNER_WARM_CACHES_H

#include "sampler/burst/runner/trace.h"

void cache_warming_begin(const struct run *run, const struct registers *registers, uint32_t tid,
                         uint64_t ticks_a_us);
bool cache_warming_end(void); /* false: they can't be, or it took too long */

#endif
