/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The target's memory map, from /proc/PID/maps. */
#ifndef CS_SAMPLER_BURST_RUNNER_REGIONS_H
#define CS_SAMPLER_BURST_RUNNER_REGIONS_H

#include "sampler/burst/runner/runner.h"

enum region_kind { REGION_FILE, REGION_ANONYMOUS, REGION_STACK, REGION_CLOCK, REGION_VDSO };
struct region {
    uint64_t start, end;
    uint64_t identity; /* changes with file, position in the file and permissions */
    bool r, w, x, shared;
    uint8_t kind;
};
/* Reads the map again. 0, 1 when it changed, -1 when the target is gone, -2 when it uses the runner's
 * addresses. */
int regions_refresh(void);
const struct region *region_at(uint64_t addr);          /* NULL: none known */
const struct region *region_stack_above(uint64_t addr); /* the stack, if growing it downwards reaches addr */
uint64_t region_identity(const struct region *region, uint64_t addr);

#endif
