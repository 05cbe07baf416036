/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one sample costs the work that it interrupts, measured on the calling thread. It spins on the clock
 * while the event fires on it. The gaps are what the interrupts took, the hypervisor's part included. */
#pragma once

#include "sampler/perf/events.h"
#include "sampler/rate/cost.h"

#define CS_RATE_COST_ROUND_NS 21000000ULL /* what a round takes of one CPU */

/* Adds so many measurements. Nothing is added where the event can't be opened. */
void cs_rate_cost_measure(struct cs_rate_cost *cost, const struct cs_event *event, unsigned rounds);
