/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The observer's own effect, measured while it runs. For a millisecond in ten, at random times, it looks away.
 * What the program's counters grew by then, per CPU time of the program, is compared with the looks before and after.
 *
 * A timer's signal ends the loop, which has no code for it: a sample costs what it did. All threads' counters are summed, and
 * the CPU time is that of the process: neither who runs nor who else needs the CPU matters. Rates are ratios of sums,
 * since phases of the program make a short look away vary more than the long looks next to it. */
#pragma once

#include <stdbool.h>

/* Of one counter, over pairs of a look away and the looks beside it. */
enum { CS_AWAY_EVENTS, CS_AWAY_TIME, CS_LOOK_EVENTS, CS_LOOK_TIME, CS_EFFECT_PARTS };
struct cs_effect_sums {
    double n, sum[CS_EFFECT_PARTS], product[CS_EFFECT_PARTS][CS_EFFECT_PARTS];
};
void cs_effect_add(struct cs_effect_sums *s, const double pair[CS_EFFECT_PARTS]);
/* How much longer the program takes while it is looked at, 0.04 = 4 %, and its standard error. False: too few pairs, or the
 * counter stood still. */
bool cs_effect_estimate(const struct cs_effect_sums *s, double *slower, double *error);

struct cs_observation;
/* Runs the loop until it is stopped, with looks away where they can show something; seen.effect has what came of it. */
void cs_effect_run(struct cs_observation *o);
