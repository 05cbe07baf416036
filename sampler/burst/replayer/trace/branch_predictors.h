/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often simulated predictors miss each branch of a burst; rows into `shared`. */
#pragma once

#include "sampler/burst/wire.h"

void branch_predictors_begin(struct cs_burst_shared *shared);
/* One execution of a branch; `after` is the address behind it. */
void branch_predictors_execute(uint64_t branch, unsigned end, uint64_t to, uint64_t after);
