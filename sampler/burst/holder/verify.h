/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The proof: single-steps the stopped thread and compares. */
#ifndef CS_SAMPLER_BURST_HOLDER_VERIFY_H
#define CS_SAMPLER_BURST_HOLDER_VERIFY_H

#include "sampler/burst/runner/boundary.h"

void verify(struct cs_burst_outcome *outcome, int tid, uint32_t n); /* the first n of boundary->steps */

#endif
