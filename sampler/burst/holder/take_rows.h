/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the replayer found, for the profiler. */
#pragma once

#include "sampler/burst/runner/boundary.h"

/* rows: what the replayer can write; to->command is ours. watched_ns: from the thread's stop until it was looked
 * at for the last time. */
void take_rows(struct cs_burst_shared *to, const struct cs_burst_shared *rows, bool timed,
               uint64_t watched_ns);
