/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The target's memory map, as the holder has read it. */
#ifndef CS_SAMPLER_BURST_REPLAYER_TRANSLATOR_REGIONS_H
#define CS_SAMPLER_BURST_REPLAYER_TRANSLATOR_REGIONS_H

#include "sampler/burst/runner/boundary.h"

const struct region *region_at(uint64_t addr);          /* NULL: none known */
const struct region *region_stack_above(uint64_t addr); /* the stack, if growing it downwards reaches addr */
uint64_t region_identity(const struct region *region, uint64_t addr);
bool regions_overlap(uint64_t from, uint64_t to);

#endif
