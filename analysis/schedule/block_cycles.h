/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The M of DCPI's rule (dcpi-1997 section 6.1.3): each block is scheduled by itself, whatever came before
 * it. The culprit analysis schedules the paths that bursts saw instead. Only blocks with samples are asked
 * for: the others' ratios are 0 whatever M is. One call of the model for all graphs of an image. */
#pragma once

#include "analysis/cfg/cfg.h"
#include "analysis/schedule/schedule.h"

struct cs_schedule_block_cycles { /* by instruction of one graph, as struct cs_frequency_input takes them */
    double *m;
    int32_t *waits_for;
};

/* `samples` tells how many a range of offsets has. Fills one entry a graph; 0 or a negative errno (then
 * nothing is to be freed). */
int cs_schedule_block_cycles(struct cs_image_code *code, struct cs_cfg *const *cfgs, size_t n,
                             double (*samples)(uint64_t start, uint64_t end, void *arg), void *arg,
                             struct cs_scheduler *scheduler, struct cs_schedule_block_cycles *out,
                             struct cs_error *err);
void cs_schedule_block_cycles_fini(struct cs_schedule_block_cycles *cycles);
