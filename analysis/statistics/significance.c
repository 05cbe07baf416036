/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Incomplete gamma and beta functions by series and continued fraction (modified Lentz), good to 1e-10 in the
 * range of sample counts. Tests compare them with tabulated values. */
#include "analysis/statistics/significance.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#define TERMS_MAX 2000
#define TINY 1e-300

static double guarded(double x)
{
    return fabs(x) < TINY ? TINY : x;
}

/* Continued fraction of the incomplete beta function, for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / guarded(1 - (a + b) * x / (a + 1)), h = d;
    for (int m = 1; m < TERMS_MAX; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / guarded(1 + even * d);
        c = guarded(1 + even / c);
        h *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / guarded(1 + odd * d);
        c = guarded(1 + odd / c);
        h *= d * c;
        if (fabs(d * c - 1) < 1e-13)
            break;
    }
    return h;
}

/* Regularised incomplete beta I_x(a, b). */
static double beta_share(double a, double b, double x)
{
    if (x <= 0 || a <= 0)
        return a <= 0 ? 1 : 0;
    if (x >= 1 || b <= 0)
        return b <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double cs_binomial_two_sided(double k, double n, double p)
{
    assert(k >= 0 && k <= n && p >= 0 && p <= 1);
    if (!(n > 0))
        return 1;
    double at_most = beta_share(n - k, k + 1, 1 - p), at_least = k <= 0 ? 1 : beta_share(k, n - k + 1, p);
    double both = 2 * fmin(at_most, at_least);
    return both > 1 ? 1 : both;
}

double cs_student_two_sided(double t, double freedom)
{
    if (isinf(freedom))
        return erfc(fabs(t) / sqrt(2));
    return freedom > 0 ? beta_share(freedom / 2, 0.5, freedom / (freedom + t * t)) : 1;
}

/* Regularised upper incomplete gamma Q(a, x). */
static double gamma_above(double a, double x)
{
    if (x <= 0)
        return 1;
    double front = exp(a * log(x) - x - lgamma(a));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (int i = 1; i < TERMS_MAX && term > sum * 1e-15; i++) {
            term *= x / (a + i);
            sum += term;
        }
        return 1 - front * sum;
    }
    double b = x + 1 - a, c = 1 / TINY, d = 1 / b, h = d;
    for (int i = 1; i < TERMS_MAX; i++) {
        double an = -i * (i - a);
        b += 2;
        d = 1 / guarded(an * d + b);
        c = guarded(b + an / c);
        h *= d * c;
        if (fabs(d * c - 1) < 1e-14)
            break;
    }
    return front * h;
}

double cs_chi_square_above(double x, double freedom)
{
    return freedom > 0 ? gamma_above(freedom / 2, x / 2) : 1;
}

double cs_counts_differ(const double *count, const double *weight, size_t n, double dispersion)
{
    double sum = 0, weights = 0, chi = 0;
    for (size_t i = 0; i < n; i++) {
        sum += count[i];
        weights += weight ? weight[i] : 1;
    }
    if (n < 2 || !(sum > 0) || !(weights > 0))
        return 1;
    for (size_t i = 0; i < n; i++) {
        double expected = sum * (weight ? weight[i] : 1) / weights;
        if (expected > 0)
            chi += (count[i] - expected) * (count[i] - expected) / expected;
    }
    return cs_chi_square_above(chi / fmax(dispersion, DBL_MIN), (double)(n - 1));
}

struct ranked {
    double p;
    size_t i;
};

static int by_p(const void *a, const void *b)
{
    double x = ((const struct ranked *)a)->p, y = ((const struct ranked *)b)->p;
    return (x > y) - (x < y);
}

int cs_false_discovery(const double *p, size_t n, size_t tested, double *q)
{
    assert(tested >= n);
    if (n == 0)
        return 0;
    struct ranked *order = malloc(n * sizeof *order);
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        order[i] = (struct ranked){p[i], i};
    qsort(order, n, sizeof *order, by_p);
    double least = 1;
    for (size_t r = n; r-- > 0;) {
        least = fmin(least, order[r].p * (double)tested / (double)(r + 1));
        q[order[r].i] = least;
    }
    free(order);
    return 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double cs_median(double *values, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i]))
            values[kept++] = values[i];
    if (kept == 0)
        return (double)NAN;
    qsort(values, kept, sizeof *values, by_value);
    return kept % 2 ? values[kept / 2] : (values[kept / 2 - 1] + values[kept / 2]) / 2;
}
