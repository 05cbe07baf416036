/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where can an indirect jump go? dcpi-1997 section 6.1.1: the instructions before it tell of a table of
 * targets. Internal to this module. */
#pragma once

#include "analysis/cfg/cfg.h"

struct jump_targets {
    uint64_t *offset;
    uint32_t n, capacity;
    bool outside; /* some entry leads out of the procedure (into a cold part that isn't known as its own) */
};

/* Appends the targets of the indirect jump insns[jump], each once; all are starts of instructions in `insns`
 * (ascending, one procedure). Returns 1 resolved, 0 not, 2 not but it reads no table
 * (a call through a pointer in tail position, most likely), -ENOMEM. Reads at most some thousands of
 * instructions. */
int cs_cfg_jump_table(struct cs_image_code *code, const struct cs_cfg_instruction *insns, uint32_t n_insns,
                      uint32_t jump, struct jump_targets *targets);
