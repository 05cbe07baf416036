/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a sample costs, from many noisy measurements (cost_measurement.h): a mean that forgets slowly, and its upper
 * confidence bound. The bound counts, because a budget has to hold. Pure.
 *
 * One measurement on a virtual machine is off by a third of what it measures; the host has moods that last
 * seconds. Old measurements count 1/32 less with every new one. */
#pragma once

struct cs_rate_cost {
    double weight, mean, squares; /* squares: of the distances from the mean, weighted */
};

/* Negative measurements (nothing but noise) count too: leaving them out would bias the mean. What is far
 * from the rest (a host that was away) counts as four times the mean. */
void cs_rate_cost_add(struct cs_rate_cost *cost, double seconds);
/* One-sided 95 %; 0 = not known: too few measurements, or they tell of no cost. */
double cs_rate_cost_upper(const struct cs_rate_cost *cost);
