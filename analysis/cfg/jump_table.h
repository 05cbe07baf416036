/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where can an indirect jump go? dcpi-1997 section 6.1.1: look at the instructions before it for a table.
 * Internal to analysis/. */
#ifndef CS_ANALYSIS_JUMPTABLE_H
#define CS_ANALYSIS_JUMPTABLE_H

#include "analysis/cfg/cfg.h"

struct targets {
    uint64_t *offset;
    uint32_t n, room;
    bool outside; /* some entry leads out of the procedure (into a cold part that isn't known as its own) */
};

/* Appends the targets of the indirect jump insns[jump], each once; all are starts of instructions in `insns`
 * (ascending, one procedure). Returns 1 resolved, 0 not, 2 not but it reads no table
 * (a call through a pointer in tail position, most likely), -ENOMEM. Reads at most some thousands of
 * instructions. */
int cs_jump_table(struct cs_code *code, const struct cs_cfg_insn *insns, uint32_t n_insns, uint32_t jump,
                  struct targets *targets);

#endif
