/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of a whole core (AnyThread): what an observer on the sibling thread reads, and what part of it is the
 * target's. Pure. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>

/* Makes of a thread's event the same one of both hardware threads. The kernel's generic events have no such form: their
 * encoding in Intel's architectural events (SDM volume 3, "Architectural Performance Monitoring") takes their place.
 * False: there is none. */
bool cs_core_event(struct perf_event_attr *attr);

/* Of such an event: whether it is a sum over the threads, so that the core's count less the observer's is the target's.
 * Cycles aren't: a cycle in which both threads run is one cycle of the core. Nor are counts with a threshold (CMASK). */
bool cs_core_event_is_sum(const struct perf_event_attr *attr);
