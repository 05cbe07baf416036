/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stopping a thread without its noticing, and all that happens while it stands and after. */
#ifndef CS_SAMPLER_BURST_RUNNER_STOP_THREAD_H
#define CS_SAMPLER_BURST_RUNNER_STOP_THREAD_H

#include "sampler/burst/wire.h"

void burst(struct cs_burst_shared *shared); /* the burst that shared->command asks for */

#endif
