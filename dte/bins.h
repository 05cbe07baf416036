/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histogram bins that need no range beforehand: sixteen bins an octave (each at most 1/16 of its value wide).
 * They serve cycle counts (all of uint64_t) and rates (2^-24 to 2^8 events a cycle). Zero has a bin of its
 * own. Smaller and larger rates fall in the first and the last bin.
 *
 *      rate bin 0: zero | 1: below 2^-24 | 2 ... : sixteen an octave | CS_DTE_RATE_BINS-1: 2^8 and above
 *
 * Monotonic: a <= b implies bin(a) <= bin(b). Pure. Cost: five to eight instructions, no division. */
#pragma once

#include <stdint.h>
#include <string.h>

#define CS_DTE_CYCLE_BINS 976 /* (63 - 4) * 16 + 31 + 1 */
#define CS_DTE_RATE_OCTAVE_MIN (-24)
#define CS_DTE_RATE_OCTAVES 32
#define CS_DTE_RATE_BINS (CS_DTE_RATE_OCTAVES * 16 + 3)

/* By the number's form as a double, whose exponent and first four bits of fraction are the bin: a bit scan is
 * eight micro-operations on AMD up to Zen 3. */
static inline unsigned cs_dte_cycle_bin(uint64_t cycles)
{
    if (__builtin_expect(cycles - 16 < ((uint64_t)1 << 53) - 16, 1)) { /* exact as a double */
        double value = (double)(int64_t)cycles;
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        return (unsigned)(bits >> 48) - (1023 + 3) * 16;
    }
    if (cycles < 16)
        return (unsigned)cycles;
    unsigned shift = (63u ^ (unsigned)__builtin_clzll(cycles)) - 4;
    return shift * 16 + (unsigned)(cycles >> shift);
}

static inline unsigned cs_dte_rate_bin(double rate)
{
    uint64_t bits;
    memcpy(&bits, &rate, sizeof bits);
    const int64_t least = (int64_t)(1023 + CS_DTE_RATE_OCTAVE_MIN) << 4;
    int64_t bin = (int64_t)(bits >> 48) - least + 2; /* sign bit never set: rates are not negative */
    if (__builtin_expect((uint64_t)bin - 1 < CS_DTE_RATE_BINS - 1, 1))
        return (unsigned)bin;
    return bits << 1 == 0 ? 0 : bin < 1 ? 1 : CS_DTE_RATE_BINS - 1;
}

/* Least value that falls in the bin (exact). Bin CS_DTE_RATE_BINS has the end of the range. */
uint64_t cs_dte_cycle_bin_least(unsigned bin);
double cs_dte_rate_bin_least(unsigned bin);
/* The value that stands for the bin: its middle. */
double cs_dte_cycle_bin_middle(unsigned bin);
double cs_dte_rate_bin_middle(unsigned bin);

/* Value at share q (0..1) of a histogram; 0 when empty. Of cycles the middle of its bin; of rates as if those of a bin were
 * spread evenly over it. */
double cs_dte_cycle_quantile(const uint64_t counts[CS_DTE_CYCLE_BINS], double q);
double cs_dte_rate_quantile(const uint64_t counts[CS_DTE_RATE_BINS], double q);

/* Kolmogorov-Smirnov distance of two histograms with the same n bins: the largest difference between their
 * cumulative shares, 0 to 1. Two empty ones are at distance 0, an empty and a filled one at 1. */
double cs_dte_ks_distance(const double *a, const double *b, unsigned n);
