/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dte/moments.h"

#include <assert.h>
#include <math.h>

double cs_dte_moments_deviation(const struct cs_dte_moments *m)
{
    assert(m->weight >= 0);
    return sqrt(cs_dte_moments_variance(m));
}
