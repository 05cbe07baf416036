/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one sample costs the work that it interrupts, measured on the calling thread: it spins on the clock
 * while the event fires on it, and the gaps are what the interrupts took, the hypervisor's part included. */
#ifndef CS_SAMPLER_CALIBRATE_H
#define CS_SAMPLER_CALIBRATE_H

#include "sampler/events.h"

/* Takes some 50 ms. Seconds a sample; 0 when it can't be measured here (the event does not fire on us). */
double cs_sample_cost(const struct cs_event *event);

#endif
