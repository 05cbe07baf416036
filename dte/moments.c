/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dte/moments.h"

#include <math.h>

void cs_moments_merge(struct cs_moments *into, const struct cs_moments *from)
{
    if (!(from->weight > 0))
        return;
    double weight = into->weight + from->weight, off = from->mean - into->mean;
    into->mean += off * (from->weight / weight);
    into->m2 += from->m2 + off * off * (into->weight * from->weight / weight);
    into->weight = weight;
}

double cs_moments_variance(const struct cs_moments *m)
{
    return m->weight > 0 && m->m2 > 0 ? m->m2 / m->weight : 0;
}

double cs_moments_deviation(const struct cs_moments *m)
{
    return sqrt(cs_moments_variance(m));
}
