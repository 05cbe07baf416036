/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One machine instruction, decoded: a small interface over Zydis (x86-64), capstone (AArch64) and a decoder of
 * ours (RISC-V). No other file needs to know their structures. Needs nothing of ours; pure, thread-safe. Flow
 * without operands costs about 0.2 µs an instruction on x86-64 and a few ns on AArch64. Operands cost 0.4 µs and
 * 1 µs or more.
 *
 * Files of this module:
 *   decode               one instruction: where control goes, what it reads and writes, its text
 *   decode_aarch64       the same for AArch64
 *   decode_internal      what each instruction set has behind decode
 *   decode_riscv64       the same for RISC-V: compressed instructions, flow, operands
 *   decode_riscv64_text  its text
 *   decode_x86_64        the same for x86-64
 *   unknown_x86_64       how long an instruction is that the decoder doesn't know
 *   semantics            what an instruction is to the machine model and the culprit rules
 *   semantics_aarch64    the same for AArch64
 *   semantics_internal   what each instruction set has behind semantics
 *   semantics_riscv64    the same for RISC-V
 *   semantics_x86_64     the same for x86-64
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instruction sets whose code can be read. */
enum cs_isa { CS_ISA_NONE, CS_ISA_X86_64, CS_ISA_AARCH64, CS_ISA_RISCV64 };

enum cs_isa_flow {
    CS_ISA_FLOW_NEXT,   /* goes on with the next instruction (system calls, traps and `rep` too) */
    CS_ISA_FLOW_BRANCH, /* conditional: target or next */
    CS_ISA_FLOW_JUMP,   /* target; indirect when `target` is unknown */
    CS_ISA_FLOW_CALL,   /* target, comes back to the next instruction unless the callee never returns */
    CS_ISA_FLOW_RETURN, /* ret, iret, sysret, eret */
    CS_ISA_FLOW_STOP,   /* ud2, hlt, udf, brk: nothing follows */
};

/* Sets of registers: one bit each, whatever the width that is used. AArch64 has x0 … x15 at CS_ISA_REG_GPR, v0 …
 * v31 at CS_ISA_REG_VECTOR, and CS_ISA_REG_HIGH for x16 … x30 and sp, which leaves no bit for what x86-64 alone has.
 * RISC-V has x1 … x15 and x16 … x30 there, x31 at CS_ISA_REG_GPR(0), f0 … f31 at CS_ISA_REG_VECTOR. */
#define CS_ISA_REG_GPR(i)                                                                                    \
    (UINT64_C(1) << (i)) /* 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8… r8… */
#define CS_ISA_REG_FLAGS (UINT64_C(1) << 16)
#define CS_ISA_REG_X87 (UINT64_C(1) << 17)               /* x87 and MMX */
#define CS_ISA_REG_SYSTEM (UINT64_C(1) << 18)            /* control, debug, segment, MXCSR, … */
#define CS_ISA_REG_MASK(i) (UINT64_C(1) << (20 + (i)))   /* k0 … k7 */
#define CS_ISA_REG_VECTOR(i) (UINT64_C(1) << (32 + (i))) /* xmm/ymm/zmm 0 … 31 */
#define CS_ISA_REG_HIGH(i) (UINT64_C(1) << (17 + ((i) > 30 ? 1 : (i)-16))) /* 16 … 30, 31 = sp, with x17 */
#define CS_ISA_REG_NONE 0xff

/* The bit of a general register of AArch64 or RISC-V by the number that code has for it; 0: there is none. */
static inline uint64_t cs_isa_register(enum cs_isa isa, unsigned number)
{
    if (isa == CS_ISA_RISCV64 && (number == 0 || number == 31))
        return number ? CS_ISA_REG_GPR(0) : 0;
    return number < 16 ? CS_ISA_REG_GPR(number) : number < 32 ? CS_ISA_REG_HIGH((int)number) : 0;
}

/* base + index × scale + displacement; for pc-relative operands `displacement` is the absolute offset and
 * base is CS_ISA_REG_NONE. */
struct cs_isa_memory {
    int64_t displacement;
    uint8_t base, index; /* GPR number (a vector register's for gathers), CS_ISA_REG_NONE = none */
    uint8_t scale;
    uint8_t width; /* bytes, 0 = unknown or more than 255 */
    bool reads, writes, pc_relative, gather;
    bool segment; /* fs: or gs: */
    bool stack;   /* implied by push, pop, call, ret */
};

struct cs_isa_insn {
    uint64_t offset;        /* of its first byte */
    uint64_t target;        /* of a direct branch, jump or call, else 0 */
    uint64_t reads, writes; /* register sets; zero idioms (xor same, same) read nothing */
    uint16_t
        mnemonic; /* ZydisMnemonic, or capstone's arm64_insn (0 from cs_isa_decode_flow there, and on RISC-V) */
    uint8_t length, flow;
    bool padding;  /* stands where nothing runs, or does nothing */
    bool indirect; /* a jump or call through a register or memory */
    bool
        calculates; /* on registers and memory alone, or transfers control: x86-64 only, from cs_isa_decode */
    bool locked, repeated,
        moves; /* lock prefix (or xchg with memory); rep prefix; a plain register-register move */
    uint8_t n_memory;
    struct cs_isa_memory memory[2]; /* explicit operands first */
    int64_t immediate;              /* the last immediate operand */
    bool has_immediate;
};

/* Decodes the instruction at `bytes`, which lies at `offset`. Returns its length, or 0 where there is none
 * (then `insn->length` is 0). `cs_isa_decode_flow` fills offset, target, mnemonic, length, flow, indirect,
 * padding only and is faster. */
unsigned cs_isa_decode(enum cs_isa isa, const uint8_t *bytes, size_t n, uint64_t offset,
                       struct cs_isa_insn *insn);
unsigned cs_isa_decode_flow(enum cs_isa isa, const uint8_t *bytes, size_t n, uint64_t offset,
                            struct cs_isa_insn *insn);

/* Where control goes when the instruction at `bytes` forms an address in the register that the very next one jumps to or calls
 * (RISC-V's auipc and jalr); 0: that isn't so. */
uint64_t cs_isa_far_target(enum cs_isa isa, const uint8_t *bytes, size_t n, uint64_t offset);

/* RISC-V: the instruction of four bytes that stands there, or that a compressed one stands for; 0 = none. Its immediate as its
 * opcode has it, where it has one. */
uint32_t cs_isa_riscv64_word(const uint8_t *bytes, size_t n, int32_t *immediate);

/* How far apart instructions may start: where one doesn't decode, the next one is tried there. */
unsigned cs_isa_step(enum cs_isa isa);
/* The name in llvm's triples. */
const char *cs_isa_name(enum cs_isa isa);

/* Writes it as its assembler takes it (AT&T on x86-64), with the absolute address of branch targets as 0x…;
 * returns `text`. */
char *cs_isa_decode_text(enum cs_isa isa, const uint8_t *bytes, size_t n, uint64_t offset, char *text,
                         size_t capacity);
