/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Into translated code and out of it, by signals. */
#pragma once

#include "sampler/burst/replayer/translator/trace.h"

void signals_install(void);
void trace_prepare(void); /* before a long burst */
void trace_rest(void);    /* between bursts: gives its memory back */
/* Runs from these registers. `deadline` in TSC. */
void run_burst(const struct registers *registers, const void *xstate, uint64_t xstate_bytes,
               uint64_t trace_bytes, uint64_t deadline, struct run *run);
