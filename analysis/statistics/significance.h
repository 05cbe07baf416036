/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting statistics, pure arithmetic: this module needs nothing of ours.
 *
 * Files of this module:
 *   significance   is a difference of sample counts more than chance?
 *   phase          stretches of time in which the samples are spread alike
 *
 * For reports that compare. Samples of one procedure in a run are close to Poisson counts as long as periods are
 * random and the run is long against them. What runs differ by beyond that is the dispersion, a factor on the
 * variance (1 = only counting noise). */
#pragma once

#include <stddef.h>

/* Probability that a binomial count of n trials with chance p is at least as far out as k, two-sided. Real k
 * and n are allowed: counts divided by a dispersion. */
double cs_binomial_two_sided(double k, double n, double p);
/* Probability that a variable of Student's distribution is at least as far out as t, two-sided. freedom may be infinite. */
double cs_student_two_sided(double t, double freedom);
/* Probability that a chi-square variable of `freedom` degrees is above x. */
double cs_chi_square_above(double x, double freedom);
/* Chance that runs' counts differ as much when each run expects its share of the sum: `weight` is what each
 * run expects relative to the others (its total; NULL = all equal). */
double cs_counts_differ(const double *count, const double *weight, size_t n, double dispersion);
/* False discovery rates of n chances, Benjamini and Hochberg 1995: q[i] is the share of false alarms among
 * all rows that are at least as unlikely as row i. `tested` rows were looked at in all, of which these n are the
 * least likely or were chosen by size (n where all are here). 0, or -ENOMEM. */
int cs_false_discovery(const double *p, size_t n, size_t tested, double *q);
/* Median of the values that are finite; sorts them. NAN when there is none. */
double cs_median(double *values, size_t n);
