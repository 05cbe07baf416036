/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session's counts as counters of the store's epoch. */
#pragma once

#include "sampler/burst/burst.h"

/* Adds what `now` has more than `counted`, which then is `now`; on failure nothing changes. */
int cs_burst_counters_merge(const struct cs_burst_statistics *now, struct cs_burst_statistics *counted,
                            struct cs_store *store, struct cs_error *err);
