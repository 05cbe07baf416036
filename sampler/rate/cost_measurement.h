/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one sample costs the work that it interrupts, measured on the calling thread: it spins on the clock
 * while the event fires on it, and the gaps are what the interrupts took, the hypervisor's part included. */
#ifndef CS_SAMPLER_CALIBRATE_H
#define CS_SAMPLER_CALIBRATE_H

#include "sampler/rate/cost.h"
#include "sampler/perf/events.h"

#define CS_CALIBRATE_ROUND_NS 21000000ULL /* what a round takes of one CPU */

/* Adds so many measurements. Nothing is added where the event can't be opened. */
void cs_calibrate(struct cs_cost *cost, const struct cs_event *event, unsigned rounds);

#endif
