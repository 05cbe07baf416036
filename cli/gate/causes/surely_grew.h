/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is a cause that grew evidence against layout? Pure. */
#pragma once

#include "cli/gate/verdict/verdict.h"

#define GATE_RECORDINGS_MIN 4 /* of each side */
/* ... where functions that hash addresses make runs differ: data lie elsewhere in each run then */
#define GATE_RECORDINGS_MIN_HASHED 8

/* Is it of the addresses of data, which recordings have whatever the layout? Not what the core makes of code: ports, chains, what is
 * fetched. Nor mispredictions: outcomes are recorded, but what a core forgets of them depends on where branches lie. */
bool gate_cause_is_recorded(const char *cause);
/* Of `n` recordings of both sides, the seconds that the cause likely took in each: the chance of such a mean growth as recordings
 * vary. 1: it is below `least`, or there are too few recordings. */
double gate_cause_chance(const struct gate_run *run, size_t n, double least, bool hashed);
/* Fills sure_cause of the rows that have a cause_chance, where the rate of false discoveries is below GATE_CHANCE. `looked_at`: so many
 * causes of functions could have been named. */
void gate_cause_settle(struct gate *gate, size_t looked_at);
