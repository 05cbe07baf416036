/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constants that only verdicts use. Format and use as in analysis/culprit/classify/model.h. */
#pragma once

/* ---- the surroundings of a stall on its path ---- */
/* A cause with less of the time isn't one of several; unit: share; source: seven of them would have all; shows:
 * culprit-fresh */
#ifndef CS_MODEL_SEVERAL_LEAST
#define CS_MODEL_SEVERAL_LEAST 0.15
#endif

/* A cause with less of the time isn't one; unit: share; source: nobody repairs 5 %; shows: culprit-kernels */
#ifndef CS_MODEL_VERDICT_LEAST
#define CS_MODEL_VERDICT_LEAST 0.05
#endif

/* How much of a procedure's time the generic core may charge to a wrong static cause; unit: share; source: the 28
 * kernels with --cpu generic: wrong ones had 0.3 to 23 %, right ones 48 % and more; shows: culprit-kernels */
#ifndef CS_MODEL_GENERIC_OFF
#define CS_MODEL_GENERIC_OFF 0.3
#endif

/* Bursts that the clearest cause needs; unit: bursts; source: five draws of one cause that has less than half of the time are
 * alike in one of 32 cases; shows: culprit-fresh */
#ifndef CS_MODEL_VERDICT_BURSTS_MIN
#define CS_MODEL_VERDICT_BURSTS_MIN 5
#endif

/* Causes that more bursts don't tell apart are alike: the bounds beside them say so; unit: bursts; source: some
 * minutes of recording; shows: calc-default */
#ifndef CS_MODEL_VERDICT_BURSTS_MAX
#define CS_MODEL_VERDICT_BURSTS_MAX 100
#endif

/* A turn of a loop by itself is that of the program where both differ by no more; unit: share; source: 24 such loops differ by
 * 9 % at most, those with misses, sharing or other values by 26 % and more (docs/lab/culprits.md); shows: saving-truth */
#ifndef CS_MODEL_TURN_OFF
#define CS_MODEL_TURN_OFF 0.1
#endif

/* A thing that isn't the first cause's is spoken of if without it so much of the time goes; unit: share; source: trial; shows:
 * saving-truth */
#ifndef CS_MODEL_REMOVED_MUCH
#define CS_MODEL_REMOVED_MUCH 0.1
#endif

/* No cause is what a loop is as fast without, to this difference; unit: share; source: looks of one loop differ by 2 %; shows:
 * cost-truth */
#ifndef CS_MODEL_REFUTED_SAVES
#define CS_MODEL_REFUTED_SAVES 0.03
#endif

/* If the loop has so much of the function; unit: share; source: the rest is too little for a first cause; shows: culprit-fresh */
#ifndef CS_MODEL_REFUTED_SHARE
#define CS_MODEL_REFUTED_SHARE 0.8
#endif

/* ---- branches ---- */
/* How much of a static cause's time returns from beyond the return stack may cost before it is no verdict; unit: share; source:
 * of nested_list's time, half is theirs, and the model takes most of it for a chain; shows: culprit-fresh */
#ifndef CS_MODEL_RETURNS_DOUBT
#define CS_MODEL_RETURNS_DOUBT 0.5
#endif

/* ---- footprints ---- */
/* A flat program (flat.h). Targets of indirect jumps and calls that a predictor keeps, as cores since 2018 have 1,000 to 4,000;
 * unit: targets. */
#ifndef CS_MODEL_TARGETS_KEPT
#define CS_MODEL_TARGETS_KEPT 2000
#endif

/* Of the latency of a line of code that a cache lacks, what isn't hidden by fetching ahead; unit: share. */
#ifndef CS_MODEL_FLAT_FETCH
#define CS_MODEL_FLAT_FETCH 0.4
#endif

/* Fewer bursts say too little about which lines come back. */
#ifndef CS_MODEL_FLAT_BURSTS
#define CS_MODEL_FLAT_BURSTS 10
#endif

/* A first cause of a whole program has as much of its time at least; unit: share. */
#ifndef CS_MODEL_FLAT_LEAST
#define CS_MODEL_FLAT_LEAST 0.35
#endif
