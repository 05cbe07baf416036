/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether one side's runs have larger values than the other's, by their ranks only.
 *
 * Some waits are nothing in most runs and long in the others. Their mean has an error that one run makes, so Student's t
 * sees little. Ranks don't depend on how values are distributed. The same values can be divided into two sides in many ways. The
 * chance is the share of the ways in which this side has as large a sum of ranks. (Mann and Whitney 1947, with mean ranks of
 * equal values, counted exactly.)
 *
 * In a program compared with itself every way is equally likely. Runs in turn differ by less than that where the machine
 * drifts, so the chance is an upper bound. Runs that didn't take turns have no such bound, and no answer. */
#pragma once

#include "cli/gate/verdict/estimate.h"

#define GATE_RANKED_MAX 128 /* runs of both sides, the first ones: counting takes the fourth power of it */

/* Chance (one-sided) that equal programs make `side` as much larger, by more than `beyond`. Values are >= 0, NAN is left out.
 * 1 where the sides didn't take turns, or a side has no run. Negative: no memory. */
double gate_rank_chance(const struct gate_run *run, size_t n, unsigned side, double beyond);
