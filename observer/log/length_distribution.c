/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/log/length_distribution.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

unsigned cs_length_bin(uint64_t cycles)
{
    double value = cycles ? (double)cycles : 1;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t bin = (bits >> 45) - (1023u << 7);
    return bin < CS_LENGTH_BINS ? (unsigned)bin : CS_LENGTH_BINS - 1;
}

static double middle(unsigned bin)
{
    return ldexp(1 + ((double)(bin % CS_LENGTH_BINS_OCTAVE) + 0.5) / CS_LENGTH_BINS_OCTAVE,
                 (int)(bin / CS_LENGTH_BINS_OCTAVE));
}

/* Share that each bin has of a bound of weight `n` from bin `low` to `high`, noted as a step up and one down. */
static void spread(double *steps, const double *sums, unsigned low, unsigned high, double n)
{
    const double within = sums[high + 1] - sums[low];
    if (!(within > 0))
        return;
    steps[low] += n / within;
    steps[high + 1] -= n / within;
}

enum { ROUNDS = 200 };

/* Turnbull's self-consistency: each bound is shared out as the distribution has it, until that changes no more. */
int cs_length_estimate(struct cs_observe_length_row *row, const struct cs_length_bounds *bounds,
                       size_t n_bounds)
{
    assert(bounds || n_bounds == 0);
    double *sums = calloc(2 * (CS_LENGTH_BINS + 1), sizeof *sums), *steps = sums + CS_LENGTH_BINS + 1;
    double unseen = 0;
    for (unsigned b = 0; b < CS_LENGTH_BINS; b++)
        unseen += row->unseen[b];
    const double all = (double)(row->whole + row->cut) + unseen;
    double moved = 1, at_risk = all, standing = 1;
    if (!sums)
        return -ENOMEM;
    for (size_t i = 0; i < n_bounds; i++)
        steps[bounds[i].low]++;
    /* Kaplan and Meier's first, to which lower bounds alone come; no length is impossible. */
    for (unsigned b = 0; b < CS_LENGTH_BINS && all > 0; b++) {
        const double ended = at_risk > 0 ? standing * (double)row->ended[b] / at_risk : 0;
        row->shares[b] = ended + 1e-6 / CS_LENGTH_BINS;
        standing -= ended;
        at_risk -= (double)(row->ended[b] + row->left[b]) + steps[b];
    }
    row->shares[CS_LENGTH_BINS - 1] += fmax(0, standing);
    for (unsigned round = 0; round < ROUNDS && moved > 1e-7 && (row->cut || unseen > 0); round++) {
        double rise = 0;
        for (unsigned b = 0; b < CS_LENGTH_BINS; b++)
            sums[b + 1] = sums[b] + row->shares[b];
        memset(steps, 0, (CS_LENGTH_BINS + 1) * sizeof *steps);
        for (unsigned b = 0; b < CS_LENGTH_BINS; b++) {
            if (row->left[b])
                spread(steps, sums, b, CS_LENGTH_BINS - 1, (double)row->left[b]);
            if (row->unseen[b] > 0)
                spread(steps, sums, 0, b, row->unseen[b]);
        }
        for (size_t i = 0; i < n_bounds; i++)
            spread(steps, sums, bounds[i].low, bounds[i].high, 1);
        moved = 0;
        for (unsigned b = 0; b < CS_LENGTH_BINS; b++) {
            rise += steps[b];
            const double share = ((double)row->ended[b] + row->shares[b] * fmax(0, rise)) / all;
            moved += fabs(share - row->shares[b]);
            row->shares[b] = share;
        }
    }
    free(sums);
    return 0;
}

double cs_observe_length_quantile(const struct cs_observe_length_row *row, double q)
{
    assert(q >= 0 && q <= 1);
    double sum = 0;
    if ((double)row->whole * (1 - q) < 1 - 1e-9)
        return NAN;
    for (unsigned b = 0; b < CS_LENGTH_BINS; b++)
        if ((sum += row->shares[b]) >= q - 1e-12)
            return b > cs_length_bin(row->longest) ? NAN : middle(b);
    return NAN;
}

double cs_observe_length_below(const struct cs_observe_length_row *row, double cycles)
{
    double sum = 0;
    for (unsigned b = 0; cycles >= 2 && b < cs_length_bin((uint64_t)cycles); b++)
        sum += row->shares[b];
    return sum;
}
