/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What memory instructions and code touched in a burst; rows into `shared`. */
#pragma once

#include "sampler/burst/wire.h"

#include <stdbool.h>

void memory_profile_begin(struct cs_burst_shared *shared);
/* One memory access; `number`: which of its instruction's. */
void memory_profile_access(uint64_t insn, unsigned number, unsigned flags, uint64_t addr, uint64_t size,
                           bool pointer);
void memory_profile_code(uint64_t from, uint64_t to);
