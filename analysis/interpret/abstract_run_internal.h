/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside analysis/interpret/abstract_run.h: an instruction as the interpreter wants it, values, and what a thread knows. */
#pragma once

#include "analysis/interpret/abstract_run.h"

enum path_kind {
    PATH_NOTHING,
    PATH_MOVE, /* dst = src, zero-extended */
    PATH_MOVE_SIGNED,
    PATH_ADDRESS, /* lea */
    PATH_ADD,
    PATH_ADD_CARRY,
    PATH_SUBTRACT,
    PATH_SUBTRACT_BORROW,
    PATH_COMPARE,
    PATH_AND,
    PATH_OR,
    PATH_XOR,
    PATH_TEST,
    PATH_NOT,
    PATH_NEGATE,
    PATH_INCREMENT,
    PATH_DECREMENT,
    PATH_SHIFT_LEFT,
    PATH_SHIFT_RIGHT,
    PATH_SHIFT_SIGNED,
    PATH_MULTIPLY, /* dst = src × src2 */
    PATH_BIT_TEST,
    PATH_SWAP, /* bswap */
    PATH_COUNT_TRAILING,
    PATH_SET,       /* setcc */
    PATH_MOVE_IF,   /* cmovcc */
    PATH_WIDEN,     /* cbw, cwde, cdqe */
    PATH_SIGN_INTO, /* cwd, cdq, cqo */
    PATH_PUSH,
    PATH_POP,
    PATH_LEAVE,
    PATH_BRANCH,
    PATH_BRANCH_UNKNOWN, /* on what the interpreter doesn't follow: loop, jrcxz */
    PATH_JUMP,
    PATH_CALL,
    PATH_RETURN,
    PATH_END,   /* system calls, traps: the path ends */
    PATH_OTHER, /* known only by what it writes */
};

enum path_where { PATH_NONE, PATH_REGISTER, PATH_MEMORY, PATH_IMMEDIATE };

struct path_operand {
    uint8_t where; /* enum path_where */
    uint8_t reg;   /* 0 … 15 */
    uint8_t shift; /* 8 for ah, ch, dh, bh */
    uint8_t bits;  /* 8, 16, 32, 64; else the instruction is PATH_OTHER */
};

struct path_op {
    uint8_t kind, length;
    uint8_t condition; /* 0 … 15, as in the opcodes of jcc */
    bool spoils_stack; /* writes memory of any length: strings, saved states */
    bool keeps_flags;  /* of kinds that else change them: bmi2's shifts */
    struct path_operand dst, src, src2;
    struct { /* the memory operand, at most one that is explicit */
        int64_t displacement;
        uint8_t base, index, scale; /* CS_ISA_REG_NONE: none */
        bool known;                 /* neither a segment's nor a vector of addresses */
        bool relative;              /* to the image */
        bool written;               /* by PATH_OTHER, `bytes` of it */
        uint16_t bytes;
    } memory;
    int64_t immediate;
    uint64_t target;    /* offset, of direct jumps, calls and branches */
    uint16_t registers; /* set that PATH_OTHER writes */
    uint32_t flags;     /* set that it changes */
};

/* false: no instruction there. */
bool path_decode(const uint8_t *bytes, size_t n, uint64_t offset, struct path_op *op);

/* bits ⊆ mask: a bit of mask is known. */
struct path_value {
    uint64_t bits, mask;
};

#define PATH_BELOW 1024 /* bytes of stack below the noted top that a path may use */
#define PATH_STACK 2048

enum { FLAG_CARRY = 1, FLAG_PARITY = 4, FLAG_ZERO = 0x40, FLAG_SIGN = 0x80, FLAG_OVERFLOW = 0x800 };
#define FLAGS_ALL (FLAG_CARRY | FLAG_PARITY | FLAG_ZERO | FLAG_SIGN | FLAG_OVERFLOW)

struct path_state {
    struct path_value reg[16], flags;
    uint64_t stack_low; /* address of byte 0 below */
    uint8_t byte[PATH_STACK], is_known[PATH_STACK];
    struct cs_image_code *code; /* that pc lies in */
    uint64_t delta;             /* address - offset */
};

/* Does what an instruction does other than where it goes on: calls and returns move the stack, too. */
void path_execute(struct path_state *state, const struct path_op *op, uint64_t next);
struct path_value path_read(const struct path_state *state, const struct path_op *op,
                            const struct path_operand *operand);
struct path_value path_load(const struct path_state *state, struct path_value address, unsigned bits);
/* 1, 0, or -1: not known. */
int path_condition(struct path_value flags, unsigned condition);
/* After a call of what isn't known. */
void path_step_over(struct path_state *state);
