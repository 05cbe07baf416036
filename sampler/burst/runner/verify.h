/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The proof: single-steps the stopped thread and compares. */
#ifndef CS_SAMPLER_BURST_RUNNER_VERIFY_H
#define CS_SAMPLER_BURST_RUNNER_VERIFY_H

#include "sampler/burst/runner/trace.h"

void verify(struct cs_burst_outcome *outcome, int tid, const struct run *run, uint32_t wanted);

#endif
