/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dte/bins.h"

#include <assert.h>
#include <math.h>

uint64_t cs_dte_cycle_bin_least(unsigned bin)
{
    if (bin < 16)
        return bin;
    if (bin >= CS_DTE_CYCLE_BINS)
        return UINT64_MAX;
    unsigned shift = bin / 16 - 1;
    return (uint64_t)(bin - shift * 16) << shift;
}

double cs_dte_rate_bin_least(unsigned bin)
{
    if (bin < 2)
        return 0;
    if (bin >= CS_DTE_RATE_BINS)
        return INFINITY;
    return ldexp(1.0 + (bin - 2) % 16 / 16.0, CS_DTE_RATE_OCTAVE_MIN + (int)((bin - 2) / 16));
}

double cs_dte_cycle_bin_middle(unsigned bin)
{
    assert(bin < CS_DTE_CYCLE_BINS);
    if (bin < 32)
        return (double)cs_dte_cycle_bin_least(bin);
    unsigned shift = bin / 16 - 1;
    return (double)cs_dte_cycle_bin_least(bin) + ldexp(0.5, (int)shift);
}

double cs_dte_rate_bin_middle(unsigned bin)
{
    assert(bin < CS_DTE_RATE_BINS);
    double least = cs_dte_rate_bin_least(bin);
    if (bin == 0 || bin >= CS_DTE_RATE_BINS - 1)
        return least;
    return (least + cs_dte_rate_bin_least(bin + 1)) / 2;
}

/* `*inside`: the share of the bin's own counts that lies below. */
static unsigned quantile_bin(const uint64_t *counts, unsigned n, double q, double *inside)
{
    uint64_t total = 0, below = 0;
    *inside = 0;
    assert(q >= 0 && q <= 1);
    for (unsigned i = 0; i < n; i++)
        total += counts[i];
    if (total == 0)
        return 0;
    double wanted = q * (double)total;
    for (unsigned i = 0; i < n; i++) {
        below += counts[i];
        if (below > 0 && (double)below >= wanted) {
            *inside = counts[i] ? 1 - ((double)below - wanted) / (double)counts[i] : 0;
            return i;
        }
    }
    return n - 1;
}

double cs_dte_cycle_quantile(const uint64_t counts[CS_DTE_CYCLE_BINS], double q)
{
    double inside;
    return cs_dte_cycle_bin_middle(quantile_bin(counts, CS_DTE_CYCLE_BINS, q, &inside));
}

double cs_dte_rate_quantile(const uint64_t counts[CS_DTE_RATE_BINS], double q)
{
    double inside;
    const unsigned bin = quantile_bin(counts, CS_DTE_RATE_BINS, q, &inside);
    const double least = cs_dte_rate_bin_least(bin);
    return bin == 0 || bin == CS_DTE_RATE_BINS - 1
               ? least
               : least + inside * (cs_dte_rate_bin_least(bin + 1) - least);
}

double cs_dte_ks_distance(const double *a, const double *b, unsigned n)
{
    double total_a = 0, total_b = 0, seen_a = 0, seen_b = 0, worst = 0;
    for (unsigned i = 0; i < n; i++) {
        total_a += a[i];
        total_b += b[i];
    }
    if (!(total_a > 0) || !(total_b > 0))
        return total_a > 0 || total_b > 0 ? 1 : 0;
    for (unsigned i = 0; i < n; i++) {
        seen_a += a[i];
        seen_b += b[i];
        worst = fmax(worst, fabs(seen_a / total_a - seen_b / total_b));
    }
    return worst;
}
