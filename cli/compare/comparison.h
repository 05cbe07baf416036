/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two sides of runs compared: what `diff` prints and the HTML page shows.
 *
 * A difference counts when chance is unlikely to make it (false discovery rate below 1 %) and when it is larger
 * than `least` percent. It has to be unlikely in two ways. The first is counting (the exact binomial test). The
 * second is what the runs of a side differ by (Student's test). That is a row's own dispersion. Where there are
 * few runs it is drawn towards that of rows of its size and kind (the program's, the kernel's). A machine that
 * is a little faster or slower today changes all functions alike. Where at least five can be compared and their
 * median ratio is within 15 % of 1, that ratio is taken out first. */
#pragma once

#include "cli/compare/runs.h"

#define COMPARISON_SIGNIFICANT 0.01
/* Percent; two runs of one binary differ by that on quiet machines. Where both sides have several runs these tell. */
#define COMPARISON_LEAST_CHANGE 5.0
#define COMPARISON_LEAST_CHANGE_OF_RUNS 1.0
#define COMPARISON_LEAST_BY_RUNS (-1.0) /* `least`: whichever of the two fits */

struct change {
    const struct run_row *row;
    double a, b;           /* samples of the whole side */
    double cost_a, cost_b; /* a run, in the unit of the period */
    double ratio, chance, discovery;
    bool significant;
};

struct side {
    double runs, total, period;
    double cost, variance; /* mean of its runs' costs, and its variance (of the mean); 0 of one run */
};

/* All functions together, whatever the machine had to do with it. */
struct total_change {
    double ratio, chance; /* chance: NAN where a side has one run */
    double
        visible; /* the smallest change, as a share, that these runs would show in nine cases of ten; NAN likewise */
    bool significant;
};

#define COMPARISON_COMMON_FACTOR 1.15 /* beyond, it is the program that changed */

struct comparison {
    struct side side[2];
    struct total_change all;
    double common_factor, least;
    double
        common_most; /* a common factor beyond is the program's, not the machine's; 0: COMPARISON_COMMON_FACTOR */
    struct usual {
        double dispersion,
            spread; /* a row's variance over its mean is dispersion * (1 + spread * mean), mean: samples a run */
    } usual[2];     /* of the program's rows, and of the kernel's */
    bool shares, time;
    /* With `shares`: what one function loses, the others gain. So a share has to differ by itself, and also when the common
     * factor is taken out. */
    bool per_work;
    struct change *change;
    size_t n, n_significant;
    size_t tests; /* of so many rows these are the ones that differ most; fewer than `n`: these are all */
};

/* `least`, `common_most`, `shares` and `tests` are set by the caller; runs of set 0 are A, those of set 1 are B. Further sets are compared with
 * nothing: they show how much runs of one set differ. 0 or -ENOMEM; the
 * caller frees comparison->change. The changes are ordered: significant ones first, then by cost. */
int runs_compare(const struct runs *runs, struct comparison *comparison);
/* By how much the runs' shares of a usual row differ beyond counting: a standard deviation, in percent of the share. */
double comparison_spread_percent(const struct comparison *comparison);
