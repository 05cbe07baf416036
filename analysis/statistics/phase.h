/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Phases: stretches of time in which the samples are spread over the procedures alike. In sprof-1998 section
 * 4.4 a phase ends where one chosen function starts or stops running. Here the whole spread decides, and a
 * phase that comes back is recognised. Pure: no I/O, no store.
 *
 * How far apart two stretches are: half the sum of the differences of their shares (0 = the same spread, 1 =
 * no procedure in common). What two draws of that few samples from one spread may differ by is subtracted.
 * Neighbours nearer than a threshold are joined, nearest first; one or two intervals that only hold a change
 * join the sides.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cs_phase {
    size_t first, n; /* intervals */
    unsigned number; /* from 0 in the order of first appearance; stretches of one number are one phase */
    uint64_t samples;
};

#define CS_PHASE_IDLE (~0u) /* number of a stretch without samples */
/* Distance from which two stretches are different phases; unit: 1 (share of the samples); source: trial; shows:
 * tests/run build/tests/unit/analysis/statistics/phase_test */
#ifndef CS_MODEL_PHASE_DISTANCE
#define CS_MODEL_PHASE_DISTANCE 0.15
#endif
#define CS_PHASE_DISTANCE CS_MODEL_PHASE_DISTANCE

/* counts[i * n_kinds + k]: samples of kind k in interval i. `phases` has room for n_intervals. Returns how
 * many stretches there are, or -ENOMEM. Cost: n_intervals² comparisons of a number, n_intervals × n_kinds of
 * spreads. */
int64_t cs_phases_find(const uint64_t *counts, size_t n_intervals, size_t n_kinds, double threshold,
                       struct cs_phase *phases);

/* The distance above, of two spreads. */
double cs_phase_distance(const uint64_t *a, const uint64_t *b, size_t n_kinds);
