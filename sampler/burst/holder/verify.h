/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The proof: single-steps the stopped thread and compares. */
#pragma once

#include "sampler/burst/runner/boundary.h"

void verify(struct cs_burst_outcome *outcome, int tid, uint32_t n); /* the first n of boundary->steps */
