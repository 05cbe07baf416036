/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two sides of runs compared: what `diff` prints and the HTML page shows.
 *
 * A difference counts when chance is unlikely to make it (false discovery rate below 1 %) and when it is
 * larger than `least` percent. Chance: counting noise, times the dispersion that the runs of one side show
 * among themselves. A machine that is a little faster or slower today changes all procedures alike: where at
 * least five can be compared and their median ratio is within 15 % of 1, it is taken out first. */
#ifndef CS_CLI_PROFILE_COMPARISON_H
#define CS_CLI_PROFILE_COMPARISON_H

#include "cli/profile/runs.h"

#define COMPARISON_SIGNIFICANT 0.01
#define COMPARISON_LEAST_CHANGE 5.0 /* percent; two runs of one binary differ by that on quiet machines */

struct change {
    const struct run_row *row;
    double a, b;           /* samples of the whole side */
    double cost_a, cost_b; /* a run, in the unit of the period */
    double ratio, chance, discovery;
    bool significant;
};

struct side {
    double runs, total, period;
};

struct comparison {
    struct side side[2];
    double common_factor, dispersion, least;
    bool shares, time;
    struct change *change;
    size_t n, n_significant;
};

/* `least` and `shares` are set by the caller; runs of set 0 are A, those of set 1 are B. 0 or -ENOMEM; the
 * caller frees comparison->change. The changes are ordered: significant ones first, then by cost. */
int runs_compare(const struct runs *runs, struct comparison *comparison);

#endif
