/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mean and variance of weighted values in one pass: Welford 1962 in West's weighted form (1979), merged by
 * Chan, Golub and LeVeque (1979). Numerically stable: never a difference of large sums.
 *
 * Invariant: weight = Σw, mean = Σwx/Σw, m2 = Σw(x-mean)². Weights are not negative. Pure; plain values. */
#ifndef CS_DTE_MOMENTS_H
#define CS_DTE_MOMENTS_H

struct cs_moments {
    double weight, mean, m2;
};

/* One value; several values can share their weights: fraction = w / (total weight, w included). */
static inline void cs_moments_step(double *mean, double *m2, double x, double w, double fraction)
{
    double off = x - *mean;
    *mean += off * fraction;
    *m2 += w * off * (x - *mean);
}

/* Adds x with weight w > 0; one division. */
static inline void cs_moments_add(struct cs_moments *m, double x, double w)
{
    m->weight += w;
    cs_moments_step(&m->mean, &m->m2, x, w, w / m->weight);
}

void cs_moments_merge(struct cs_moments *into, const struct cs_moments *from);
double cs_moments_variance(const struct cs_moments *m); /* Σw(x-mean)²/Σw; 0 when empty */
double cs_moments_deviation(const struct cs_moments *m);

#endif
