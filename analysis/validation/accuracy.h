/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimates held against exact counts. Nothing that makes an estimate may include this module.
 *
 * Files of this module:
 *   accuracy     shares of samples and edges estimated within so many per cent
 *   callgrind    exact counts from callgrind's output
 *   oracle_fit   the best that any weights of hot-branch groups could do
 *
 * As dcpi-1997 figures 8 and 9: the share of samples (of edge executions) whose instruction (edge) is estimated
 * within a given error.
 *
 * Relative: each procedure's estimates are scaled by one constant, the median of estimate / truth weighted by
 * samples. Whole program: one constant for all procedures. It makes the instructions of the image add up to
 * the true sum, as one counter of retired instructions would. Pure. */
#pragma once

#include "analysis/frequency/frequency.h"
#include "analysis/validation/callgrind.h"

#define CS_ACCURACY_BUCKETS 20 /* of 5 per cent: below -45, -45 to -40, ... 40 to 45, above 45 */

struct cs_accuracy_errors {
    double weight;                      /* of everything */
    double bucket[CS_ACCURACY_BUCKETS]; /* weight of signed errors, see above */
    double within[3];                   /* weight within 5, 10, 15 per cent */
    double by_confidence[3][4];         /* [confidence][within 5, within 10, within 15, all] */
    double unseen[4];                   /* the same of points of which no edge was seen */
};

struct cs_accuracy_point {
    float weight, ratio; /* estimate / truth; 0 when the estimate is 0, huge when the truth is */
    uint8_t confidence;
    bool seen; /* edges came by */
};

struct cs_accuracy_points {
    struct cs_accuracy_point *list;
    size_t n, capacity;
};

struct cs_procedure_accuracy {
    char *name; /* the caller's */
    uint64_t start;
    double samples, bad; /* all; of instructions off by more than 15 per cent (relative) */
    double observed;     /* edges seen */
    double low;          /* samples of low confidence */
    bool missing;        /* indirect jumps unresolved */
};

/* Points of one procedure: instructions weighted by samples, edges by true executions. 0 or -ENOMEM. */
int cs_accuracy_collect(const struct cs_cfg *cfg, const struct cs_frequency *f,
                        const struct cs_frequency_input *e, const struct cs_truth *truth,
                        struct cs_accuracy_points *insns, struct cs_accuracy_points *edges);
/* Median of ratios by weight; 0 when there is none. */
double cs_accuracy_scale(const struct cs_accuracy_points *points);
/* Adds points, their ratios divided by `scale`. */
void cs_accuracy_add(struct cs_accuracy_errors *errors, const struct cs_accuracy_points *points,
                     double scale);
void cs_accuracy_points_fini(struct cs_accuracy_points *points);

/* How often the truth went along an edge of the graph; -1 where the file doesn't tell. */
double cs_accuracy_true_edge(const struct cs_cfg *cfg, uint32_t edge, const struct cs_truth *truth);
