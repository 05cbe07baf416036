/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frequencies from samples only: the prior of frequency.h and what it is compared with. */
#pragma once

#include "analysis/frequency/frequency.h"

/* Fills f->block, f->edge, f->insn (naive only); f->samples is filled. All of low confidence. 0 or -ENOMEM.
 */
int frequency_from_samples(const struct cs_cfg *cfg, const struct cs_frequency_input *e,
                           enum cs_frequency_method method, struct cs_frequency *f);
