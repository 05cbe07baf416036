/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many lines and pages code touches, from how often two bursts drew the same one (capture and recapture). */
#pragma once

#include "analysis/culprit/evidence/image_evidence.h"

/* The whole footprint of an instruction, over all `bursts` that ran it; `f` has what single bursts tell. */
void culprit_measure_footprint(struct cs_table *footprints, uint64_t offset, double bursts,
                               struct cs_culprit_memory *f);

/* Lines of one set of the first level evict each other, wherever there is room. Sets that an instruction's lines fall into,
 * of 64; 0: all alike, or too few draws to tell. `steps`: equal strides go from page to page, so that less unevenness will do.
 * `lines`: of all bursts. */
double culprit_measure_sets(struct cs_table *footprints, uint64_t offset, bool steps, double *lines);

#define CULPRIT_PAGES_TOGETHER 32

struct culprit_pages {
    uint64_t offset;
    double pages; /* of its footprint */
};

/* Pages of up to CULPRIT_PAGES_TOGETHER instructions together: the sum, less what two have in common by their draws. */
double culprit_pages_together(struct cs_table *footprints, const struct culprit_pages *of, size_t n);
