/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One way of estimating frequencies held against exact counts, procedure by procedure of one image: what
 * `accuracy` prints a row of. */
#pragma once

#include "analysis/schedule/block_cycles.h"
#include "analysis/validation/accuracy.h"
#include "cli/procedure/analysed_image.h"

/* The image's graphs, the same for all ways. */
struct accuracy_subject {
    const struct cs_truth *truth;
    struct cs_cfg **cfgs;
    size_t n;
    struct cs_schedule_block_cycles *cycles; /* by graph; NULL: each instruction one cycle */
};

/* One way's errors: relative and with one scale for the whole image, of instructions and edges. */
struct score {
    const char *name, *what;
    enum cs_frequency_method method;
    bool redraw; /* directions drawn from the truth, as many as were seen */
    struct cs_accuracy_errors insns, edges, program_insns, program_edges;
    struct cs_procedure_accuracy *procedures;
    size_t n_procedures;
    double estimated, true_work; /* instructions of the image */
};

/* To be closed even when it failed. */
int accuracy_subject_open(struct accuracy_subject *subject, struct analysed_image *ev,
                          const struct cs_truth *truth, struct cs_error *err);
int accuracy_subject_schedule(struct accuracy_subject *subject, struct analysed_image *ev,
                              struct cs_scheduler *scheduler, struct cs_error *err);
void accuracy_subject_close(struct accuracy_subject *subject);

int accuracy_score(struct score *score, const struct accuracy_subject *subject,
                   const struct cs_frequency_input *evidence, struct cs_error *err);
/* Samples whose estimate is off by more than 5, 10, 15 per cent, each procedure scaled by one constant,
 * because other bursts might have been drawn: how far replicates (CS_EDGE_FLOW_NOISE) are from the estimate.
 * `varied` gets other flows. */
int accuracy_noise(const struct accuracy_subject *subject, const struct cs_frequency_input *evidence,
                   struct cs_edge_flow *varied, double over[3], struct cs_error *err);
void accuracy_score_fini(struct score *score);
