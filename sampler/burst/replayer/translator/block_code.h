/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing the parts of a block's translation; each goes to `at` (emit.h). Registers and flags are as before,
 * but for what the target's own instruction changes. */
#pragma once

#include "sampler/burst/replayer/translator/register_slots.h"

/* Read and written by translated code. */
struct hot {
    uint64_t save[4];
    uint64_t cursor, target, jump;
};
extern struct hot hot;

/* The record: number of the block, slots that are known now, cursor behind it. `dead`: a register that may be
 * used without saving it; 16: none. */
void write_entry(uint32_t block, unsigned dead);
/* Slots of registers that had changed, before the instruction that needs them. */
void write_late_slots(unsigned number);
/* Slots of words in memory, before the instruction that asks for them. */
void write_word_slots(unsigned number, const uint64_t *word_addrs);
void copy_insn(const struct decoded *d);
void write_push_return(uint64_t addr);
void write_target(const struct decoded *d); /* hot.target = operand of an indirect jump or call */
