/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between translate.c, which writes code, and what it asks of each instruction (instruction.c) and of the
 * registers of a block (plan.c). State of one block at a time: plan_begin, then note_operands and effects for
 * each instruction in order, then slot_plan is whole. */
#ifndef CS_BURST_PLAN_H
#define CS_BURST_PLAN_H

#include "sampler/burst/runner/decoder.h"
#include "sampler/burst/runner/runner.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

struct decoded {
    uint64_t addr;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    uint8_t bytes[15];
};

/* ---- instruction.c ---- */
unsigned general(ZydisRegister reg); /* number of the general register that `reg` is part of; 16: none */
/* CS_BURST_FULL, or the cause that ends a burst before this instruction. */
enum cs_burst_cause stops(const struct decoded *d);
int end_of(const struct decoded *d); /* END_… */

/* ---- plan.c ---- */
#define BLOCK_SLOTS_MAX 240 /* a slot's number fits in a byte */
extern struct slot_note slot_plan[BLOCK_SLOTS_MAX];
extern unsigned n_slots;
void plan_begin(void);
/* Also notes what the probe asks for, before the instruction. */
void plan_probe(unsigned number, const struct probe *probe);
/* Appends the instruction's memory operands to memory_ops, before effects() of it. */
void note_operands(const struct decoded *d, unsigned number);
struct insn_note effects(const struct decoded *d); /* which registers hold other values once it ran */
/* A register whose value nobody needs at the block's start: written as a whole before it is read. 16: there
 * is none. */
unsigned dead_register(const struct decoded *decoded, const struct insn_note *notes, unsigned n);

#endif
