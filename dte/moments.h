/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weighted mean and variance, as plain values: weight = Σw, mean = Σwx/Σw, m2 = Σw(x-mean)² (West 1979), weights
 * not negative. Whoever has the sums makes one (cs_tag_rate does). Pure. */
#pragma once

struct cs_dte_moments {
    double weight, mean, m2;
};

/* Σw(x-mean)²/Σw; 0 when empty. */
static inline double cs_dte_moments_variance(const struct cs_dte_moments *m)
{
    return m->weight > 0 && m->m2 > 0 ? m->m2 / m->weight : 0;
}

double cs_dte_moments_deviation(const struct cs_dte_moments *m);
