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

/* Adds x with weight w > 0; one division. */
static inline void cs_moments_add(struct cs_moments *m, double x, double w)
{
    double off = x - m->mean;
    m->weight += w;
    m->mean += off * (w / m->weight);
    m->m2 += w * off * (x - m->mean);
}

void cs_moments_merge(struct cs_moments *into, const struct cs_moments *from);
double cs_moments_variance(const struct cs_moments *m); /* Σw(x-mean)²/Σw; 0 when empty */
double cs_moments_deviation(const struct cs_moments *m);

#endif
