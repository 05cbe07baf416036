/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The target's memory map, as the holder has read it. */
#pragma once

#include "sampler/burst/runner/boundary.h"

const struct region *region_at(uint64_t addr);          /* NULL: none known */
const struct region *region_stack_above(uint64_t addr); /* the stack, if growing it downwards reaches addr */
/* Would reading there wait for a server that may never answer? Not where the page is in memory. */
bool region_would_wait(const struct region *region, uint64_t addr);
uint64_t region_identity(const struct region *region, uint64_t addr);
bool regions_overlap(uint64_t from, uint64_t to);
