/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The most likely distribution of lengths of which some are known, some have two bounds, some a lower one alone
 * (lengths.h says why). Pure. */
#pragma once

#include "observer/log/lengths.h"

/* It ended between two lengths. */
struct cs_length_bounds {
    uint16_t low, high; /* bins */
};

unsigned cs_length_bin(uint64_t cycles);
/* Fills row->shares from its `ended`, `left` and `unseen`, and its bounds. 0, or -ENOMEM. */
int cs_length_estimate(struct cs_observe_length_row *row, const struct cs_length_bounds *bounds,
                       size_t n_bounds);
