/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The translated blocks and what is known of each. The translator writes these tables, readers of a trace
 * need them. A block is numbered by its place in `blocks`. Its operands, instructions and slots follow each
 * other in the other tables from first_op, first_note and first_slot on. */
#pragma once

#include "sampler/burst/runner/boundary.h"

#define BLOCKS_MAX 65536
#define BLOCK_INSNS_MAX 40
#define OPS_MAX 262144
#define NOTES_MAX 524288
#define SLOT_NOTES_MAX 262144

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI }; /* numbers of general registers */
enum { END_COND, END_IJUMP, END_ICALL, END_RET, END_JUMP, END_CALL, END_FALL, END_STOP };
enum { OP_READ = 1, OP_WRITE = 2, OP_FS = 4, OP_REPEAT = 8, OP_GS = 16, OP_ADDRESS32 = 32 };
struct memory_op { /* address = slot[base] + slot[index] * scale + disp */
    int64_t disp;
    uint16_t size;    /* bytes */
    uint16_t insn;    /* number of the instruction in its block */
    uint16_t address; /* registers that the address is made of, bit = number */
    uint8_t base, index, scale, flags, count_slot;
};
#define NO_SLOT 255
struct insn_note {
    uint16_t offset;        /* bytes from the block's start */
    uint16_t reads, writes; /* general registers, bit = number */
    bool stack_moves;       /* the stack pointer, by `stack` and nothing else */
    bool repeats;           /* a string instruction, which may be interrupted in its middle */
    int32_t stack;
};
struct slot_note { /* what a slot holds: this register's value before this instruction; AT_START: the first */
    uint16_t insn;
    uint8_t reg; /* 16 and above: words of the stack, from its top */
};
#define AT_START 0xffff
#define NOTED_WORD (16 + STACK_WORDS) /* and above: words that are polled */
struct block {
    uint64_t pc, branch; /* start; last instruction */
    uint64_t taken;      /* of a direct branch */
    uint8_t *code;
    uint32_t first_op, first_note, first_slot;
    uint16_t n_ops, n_insns, n_slots, bytes;
    uint8_t end, cause, last_length;
};
extern struct block blocks[BLOCKS_MAX];
extern struct memory_op memory_ops[OPS_MAX];
extern uint32_t n_ops;
extern struct insn_note insn_notes[NOTES_MAX];
extern struct slot_note slot_notes[SLOT_NOTES_MAX];
