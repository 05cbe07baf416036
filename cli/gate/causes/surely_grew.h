/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is a cause that grew evidence against layout? Pure. */
#pragma once

#include "cli/gate/verdict/verdict.h"

#define GATE_RECORDINGS_MIN 4 /* of each side */
/* ... where functions that hash addresses make runs differ: data lie elsewhere in each run then */
#define GATE_RECORDINGS_MIN_HASHED 8

/* Do recordings see it, whatever the layout: at which addresses data lie to each other, and how branches went? Not what the
 * core makes of code: ports, chains, what is fetched. */
bool gate_cause_is_recorded(const char *cause);
/* Of `n` recordings of both sides, the seconds that the cause likely took in each: is its growth in the mean above `least`, beyond
 * what recordings vary by? The chance is for all causes of all functions that may have been looked at. */
bool gate_cause_surely_grew(const struct gate_run *run, size_t n, double least, bool hashed);
