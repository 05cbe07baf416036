/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of the pages that the replayer wants to have of a thread that stands. */
#pragma once

#include "sampler/burst/runner/boundary.h"

void kept_pages_rest(void);         /* gives that back, and what else only bursts need of `boundary` */
void kept_pages_prepare(bool many); /* which, and room for them, nothing being stopped */
/* Of the thread, which stands before us, until the deadline (TSC). How many came. Those that aren't there are left out. */
uint32_t kept_pages_copy(uint32_t tid, uint64_t deadline);
