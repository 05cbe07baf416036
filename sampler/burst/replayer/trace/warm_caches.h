/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the stopped thread will use is in its CPU's caches when it goes on. */
#pragma once

#include "sampler/burst/replayer/translator/trace.h"

/* Lists the pages that it will use at first, in boundary->warm, for the holder to read them. When it began, in
 * TSC. */
uint64_t cache_warming_list(struct warm_pages *pages, const struct run *run,
                            const struct registers *registers, uint64_t ticks_a_us);
