/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a store tells of one image, ready for an estimate: its samples of one event and its edges. The one way
 * from a table of samples into cs_frequency_estimate and cs_cfg_build.
 *
 *     struct cs_frequency_evidence evidence;
 *     cs_frequency_evidence_init(&evidence, points, flow, image_id, &err);
 *     cs_cfg_build(code, procedure, evidence.edges, &cfg, &err);
 *     cs_frequency_estimate(cfg, &evidence.input, CS_FREQUENCY_BURSTS, &f, &err);
 *     cs_frequency_evidence_fini(&evidence);
 *
 * Constant after init. */
#pragma once

#include "analysis/frequency/frequency.h"
#include "store/table/table.h"

struct cs_frequency_evidence {
    struct cs_frequency_input input;
    struct cs_edge_profile *edges; /* never NULL after init: an image that has none gets an empty profile */
    uint64_t *offsets;             /* of the samples, ascending */
    double *counts;
    double samples; /* their sum */
};

/* `points` (offset, samples; ascending; NULL = none) is only read; `flow` (NULL = none) must outlive it. */
int cs_frequency_evidence_init(struct cs_frequency_evidence *evidence, struct cs_table *points,
                               const struct cs_edge_flow *flow, const char *image_id, struct cs_error *err);
void cs_frequency_evidence_fini(struct cs_frequency_evidence *evidence);
