/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The best that any weights of hot-branch groups could do. The weights are fitted to exact counts, as if
 * each group's instructions in a unit of time were known. What is left of an estimate's error then is not
 * due to that. Knows the truth: for judging an estimate, never for making one. */
#pragma once

#include "analysis/frequency/edge_flow.h"

/* Flows so weighted. `executions`: how often the branch at `from` really ran, negative where it isn't known.
 * No replicates. */
int cs_oracle_flow_load(struct cs_store *store,
                        double (*executions)(const char *image, uint64_t from, void *arg), void *arg,
                        struct cs_edge_flow **out, struct cs_error *err);

/* Weights of groups under which their counts come nearest to the truth of each branch, negative = unknown.
 * Their mean over counts is 1; a group of which no truth speaks keeps 1. 0 or -ENOMEM. */
int cs_oracle_fit(const struct cs_group_counts *counts, const double *truth, double *weight);
