/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constants that only this module uses. Format and use as in analysis/culprit/classify/model.h. */
#pragma once

/* ---- levels of the memory hierarchy ---- */
/* Draws vary so much more from set to set than those of lines that use all sets alike; unit: factor of the variance;
 * source: the chi-squared distribution of 63 degrees of freedom ends at 2; shows: culprits */
#ifndef CS_MODEL_SETS_UNEVEN
#define CS_MODEL_SETS_UNEVEN 4
#endif

/* Sets from which on lines aren't crowded; unit: sets of 64; source: fewer bursts than some hundred tell no more apart; shows:
 * culprits */
#ifndef CS_MODEL_SETS_FEW
#define CS_MODEL_SETS_FEW 8
#endif

/* The same two where equal strides go from page to page. A column of a matrix is of one set, and a burst comes to
 * several columns. A stride that isn't a multiple of a page would use all sets alike; unit: factor of the variance,
 * sets; source: the chi-squared distribution; shows: culprit-fresh */
#ifndef CS_MODEL_SETS_UNEVEN_STEPS
#define CS_MODEL_SETS_UNEVEN_STEPS 2
#endif
#ifndef CS_MODEL_SETS_FEW_STEPS
#define CS_MODEL_SETS_FEW_STEPS 24
#endif

/* Strides equal to the one before, and new pages an execution, from which on accesses go so; unit: share; source: the
 * turns of a loop over 16 and more rows; shows: culprit-fresh */
#ifndef CS_MODEL_STEPS
#define CS_MODEL_STEPS 0.9
#endif

/* Distinct lines of a burst by executions up to which lines come back, which those of one set must to take each other's place;
 * unit: share; source: trial (0.06 to 0.80 in four conflicts, 1.00 in pages that are touched once); shows: culprits */
#ifndef CS_MODEL_SETS_COME_BACK
#define CS_MODEL_SETS_COME_BACK 0.9
#endif

/* ---- the front end ---- */
/* A line of code runs over and over when at least one in so many bursts of the most-seen line saw it;
 * unit: factor; source: trial; shows: culprits */
#ifndef CS_MODEL_CODE_SELDOM
#define CS_MODEL_CODE_SELDOM 20
#endif

/* ---- branches ---- */
/* Wrong guesses of each burst's empty predictor tables that say nothing; unit: guesses a burst; source:
 * the histories' bits (branch_predictors.c); shows: culprits */
#ifndef CS_MODEL_PREDICTOR_COLD
#define CS_MODEL_PREDICTOR_COLD 14
#endif

/* The same, at least; unit: guesses a burst; source: two-bit counters; shows: culprits */
#ifndef CS_MODEL_PREDICTOR_COLD_MIN
#define CS_MODEL_PREDICTOR_COLD_MIN 2
#endif

/* ---- the surroundings of a stall on its path ---- */
/* The same for a summary of a whole program, of its samples: 5 of 26,000 moved no row of sum by more than 0.7
 * points, and took a quarter of the paths away; unit: share; source: trial; shows: reports-large */
#ifndef CS_MODEL_PATH_SHARE
#define CS_MODEL_PATH_SHARE 0.0002
#endif

/* ---- lines that threads share ---- */
/* Bursts that must have seen a line taken; unit: bursts; source: two can't be chance; shows: culprits */
#ifndef CS_MODEL_SHARED_BURSTS
#define CS_MODEL_SHARED_BURSTS 2
#endif

/* ---- values ---- */
/* Of the bursts that saw the code: fewer met denormal numbers elsewhere; unit: share; source: bursts begin in proportion to time,
 * so that most of them meet what takes most of it; shows: culprit-fresh */
#ifndef CS_MODEL_DENORMAL_BURSTS
#define CS_MODEL_DENORMAL_BURSTS 0.5
#endif

/* ---- footprints ---- */
/* Distinct lines among draws above which there are too few repeats to tell how many there are; unit:
 * share; source: trial; shows: culprits */
#ifndef CS_MODEL_REPEATS_MIN
#define CS_MODEL_REPEATS_MIN 0.875
#endif

/* Meetings of two bursts from which on they tell how many lines there are; unit: meetings; source:
 * standard error below a half; shows: culprits */
#ifndef CS_MODEL_MEETINGS_MIN
#define CS_MODEL_MEETINGS_MIN 5
#endif

/* Draws from which on a footprint is estimated; unit: draws; source: trial; shows: culprits */
#ifndef CS_MODEL_DRAWS_MIN
#define CS_MODEL_DRAWS_MIN 8
#endif

/* Draws from which on a working set has a size; unit: draws; source: two bursts of 16; shows: footprint-truth */
#ifndef CS_MODEL_WORKING_SET_DRAWS
#define CS_MODEL_WORKING_SET_DRAWS 32
#endif

/* Of draws, lines that were met once, up to which Chao's count of all of them is taken; unit: share; source: coverage of Good
 * 1953; shows: footprint-truth */
#ifndef CS_MODEL_WORKING_SET_NEW
#define CS_MODEL_WORKING_SET_NEW 0.2
#endif

/* Times more lines by Chao's count than by meetings from which on some are used more than others; below so many draws it
 * can't be told; unit: factor; source: draws from trees, hot lines and even ones, simulated; shows: footprint-truth */
#ifndef CS_MODEL_WORKING_SET_UNEVEN
#define CS_MODEL_WORKING_SET_UNEVEN 1.8
#endif
#ifndef CS_MODEL_WORKING_SET_SURE
#define CS_MODEL_WORKING_SET_SURE 128
#endif

/* Of draws, lines that no second burst drew, and new lines an execution, from which on those seldom used have a lower bound;
 * unit: share, lines; source: most, and a cold simulated cache (docs/lab/culprits.md); shows: unexplained-stall */
#ifndef CS_MODEL_COLD_MOST
#define CS_MODEL_COLD_MOST 0.5
#endif
#ifndef CS_MODEL_COLD_NEW
#define CS_MODEL_COLD_NEW 0.5
#endif
/* Draws of one burst that may share a page; unit: draws; source: trial; shows: culprits */
#ifndef CS_MODEL_DRAWS_TOGETHER
#define CS_MODEL_DRAWS_TOGETHER 7.5
#endif
