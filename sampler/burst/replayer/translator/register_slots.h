/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which registers a block notes, and when. State of one block at a time: capture_begin, then note_operands
 * and effects for each instruction in order, then capture_slots is whole. */
#pragma once

#include "sampler/burst/replayer/translator/instruction.h"

/* What a block shall note besides, before the instruction at pc. */
struct probe {
    uint64_t pc;
    uint32_t registers, words; /* of the stack */
    uint32_t polled;           /* of word_addrs, bit = number; the address is a block's first */
    const uint64_t *word_addrs;
};

#define BLOCK_SLOTS_MAX 240 /* a slot's number fits in a byte */
extern struct slot_note capture_slots[BLOCK_SLOTS_MAX];
extern unsigned n_slots;
void capture_begin(void);
/* Also notes what the probe asks for, before the instruction. */
void capture_probe(unsigned number, const struct probe *probe);
/* Appends the instruction's memory operands to memory_ops, before effects() of it. */
void note_operands(const struct decoded *d, unsigned number);
struct insn_note effects(const struct decoded *d); /* which registers hold other values once it ran */
/* A register whose value nobody needs at the block's start: written as a whole before it is read. 16: there
 * is none. */
unsigned dead_register(const struct decoded *decoded, const struct insn_note *notes, unsigned n);
