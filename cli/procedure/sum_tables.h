/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sum adds up, and its tables. */
#pragma once

#include "analysis/culprit/flat.h"
#include "cli/procedure/calc.h"

struct sum_procedure {
    double best_cpi, actual_cpi; /* NAN: not known */
    char *name, *image, *sentence;
    double samples, bursts;
    bool enough;            /* evidence for the first cause */
    enum verdict_lack lack; /* where there isn't */
    enum cs_culprit_cause first;
    double first_share;
};

struct sum_tally {
    struct cs_cycle_account_summary all;
    double samples;                        /* of all rows */
    double kernel, unknown, small, opaque; /* samples that are not explained, by why */
    struct sum_procedure hot[10];
    unsigned n_hot;
    unsigned n_procedures, n_fitted, n_blind, n_thin;
    bool flat; /* functions with few samples have a third of the time */
    double model_cycles, model_operations;
    struct cs_flat_facts flat_facts;
    struct cs_flat_verdict flat_verdict;
    double ms_a_sample; /* 0: not known */
    const char *remedy; /* where no burst saw a procedure */
};

void sum_print(const struct parsed *args, struct output *out, const struct sum_tally *t);
