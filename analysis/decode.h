/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One x86-64 instruction, decoded: a small interface over Zydis, so that no other file needs to know its
 * structures. Needs nothing of ours; pure, thread-safe; about 0.2 µs an instruction, twice that with
 * operands. */
#ifndef CS_ANALYSIS_DECODE_H
#define CS_ANALYSIS_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cs_flow {
    CS_FLOW_NEXT,   /* goes on with the next instruction (system calls, traps and `rep` too) */
    CS_FLOW_BRANCH, /* conditional: target or next */
    CS_FLOW_JUMP,   /* target; indirect when `target` is unknown */
    CS_FLOW_CALL,   /* target, comes back to the next instruction unless the callee never returns */
    CS_FLOW_RETURN, /* ret, iret, sysret */
    CS_FLOW_STOP,   /* ud2, hlt: nothing follows */
};

/* Sets of registers: one bit each, whatever the width that is used. */
#define CS_REG_GPR(i)                                                                                        \
    (UINT64_C(1) << (i)) /* 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8… r8… */
#define CS_REG_FLAGS (UINT64_C(1) << 16)
#define CS_REG_X87 (UINT64_C(1) << 17)               /* x87 and MMX */
#define CS_REG_SYSTEM (UINT64_C(1) << 18)            /* control, debug, segment, MXCSR, … */
#define CS_REG_MASK(i) (UINT64_C(1) << (20 + (i)))   /* k0 … k7 */
#define CS_REG_VECTOR(i) (UINT64_C(1) << (32 + (i))) /* xmm/ymm/zmm 0 … 31 */
#define CS_NO_REG 0xff

/* base + index × scale + displacement; for rip-relative operands `displacement` is the absolute offset and
 * base is CS_NO_REG. */
struct cs_memory {
    int64_t displacement;
    uint8_t base, index; /* GPR number 0…15 (a vector register's for gathers), CS_NO_REG = none */
    uint8_t scale;
    uint8_t width; /* bytes, 0 = unknown or more than 255 */
    bool reads, writes, rip_relative, gather;
    bool segment; /* fs: or gs: */
    bool stack;   /* implied by push, pop, call, ret */
};

struct cs_insn {
    uint64_t offset;        /* of its first byte */
    uint64_t target;        /* of a direct branch, jump or call, else 0 */
    uint64_t reads, writes; /* register sets; zero idioms (xor same, same) read nothing */
    uint16_t mnemonic;      /* ZydisMnemonic; cs_decode_mnemonic gives its name */
    uint8_t length, flow;
    bool indirect; /* a jump or call through a register or memory */
    bool locked, repeated,
        moves; /* lock prefix (or xchg with memory); rep prefix; a plain register-register move */
    uint8_t n_memory;
    struct cs_memory memory[2]; /* explicit operands first */
    int64_t immediate;          /* the last immediate operand */
    bool has_immediate;
};

/* Decodes the instruction at `bytes`, which lies at `offset`. Returns its length, or 0 where there is none
 * (then `insn->length` is 0). `cs_decode_flow` fills offset, target, mnemonic, length, flow, indirect only
 * and is faster. */
unsigned cs_decode(const uint8_t *bytes, size_t n, uint64_t offset, struct cs_insn *insn);
unsigned cs_decode_flow(const uint8_t *bytes, size_t n, uint64_t offset, struct cs_insn *insn);

const char *cs_decode_mnemonic(const struct cs_insn *insn);
/* Writes it in AT&T syntax, with the absolute address of branch targets as 0x…; returns `text`. */
char *cs_decode_text(const uint8_t *bytes, size_t n, uint64_t offset, char *text, size_t room);

#endif
