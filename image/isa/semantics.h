/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one instruction is to the machine model and to the culprit rules: its kind, the registers it reads and
 * writes, its memory operand. For those few that are scheduled there is also its text as llvm-mca takes it. Pure;
 * any thread. Depends on decode.h. */
#pragma once

#include "image/isa/decode.h"

#include <stddef.h>
#include <stdint.h>

enum cs_isa_op_flag {
    CS_ISA_OP_LOAD = 1 << 0,
    CS_ISA_OP_STORE = 1 << 1,
    CS_ISA_OP_BRANCH = 1 << 2,   /* conditional */
    CS_ISA_OP_JUMP = 1 << 3,     /* unconditional, direct */
    CS_ISA_OP_INDIRECT = 1 << 4, /* target from a register or memory (with CALL or JUMP) */
    CS_ISA_OP_CALL = 1 << 5,
    CS_ISA_OP_RETURN = 1 << 6,
    CS_ISA_OP_DIVIDE = 1 << 7,  /* integer division */
    CS_ISA_OP_FDIVIDE = 1 << 8, /* floating division or square root */
    CS_ISA_OP_MULTIPLY = 1 << 9,
    CS_ISA_OP_LOCK = 1 << 10,      /* lock prefix, or xchg with memory */
    CS_ISA_OP_SERIALISE = 1 << 11, /* fences, cpuid, rdtscp, xsave... */
    CS_ISA_OP_SYSCALL = 1 << 12,
    CS_ISA_OP_FLOAT = 1 << 13,  /* floating-point arithmetic: may meet denormals */
    CS_ISA_OP_REPEAT = 1 << 14, /* rep-prefixed string operation */
    CS_ISA_OP_PREFETCH = 1 << 15,
    CS_ISA_OP_NONTEMPORAL = 1 << 16,
    CS_ISA_OP_GATHER = 1 << 17,
    CS_ISA_OP_FLAGS_ONLY = 1 << 18, /* cmp, test: writes nothing but flags */
    CS_ISA_OP_FUSES = 1 << 19,      /* fuses with a conditional branch that follows directly */
    CS_ISA_OP_VECTOR = 1 << 20,
    CS_ISA_OP_INVALID = 1 << 21, /* did not decode: one byte long */
    /* needs what its destination held, which scheduling models leave out: a part of a register is written, the x87 stack */
    CS_ISA_OP_MERGES = 1 << 22,
};

/* Register sets: bits 0 to 15 general, 16 to 47 vector, 48 flags, 49 to 56 mask, 57 x87; on AArch64 49 to 63
 * are x16 to x30, and the stack pointer's bit is rsp's (x4 then shares x17's). On
 * RISC-V as decode.h's, x16 to x30 at 49 to 63. */
#define CS_ISA_OP_REG_FLAGS (UINT64_C(1) << 48)
#define CS_ISA_OP_REG_X87 (UINT64_C(1) << 57)
#define CS_ISA_OP_REG_RSP (UINT64_C(1) << 4)

struct cs_isa_op {
    uint64_t offset; /* of the image */
    uint64_t target; /* of a direct branch, jump or call; 0 = none */
    uint32_t flags;
    uint8_t length;
    uint8_t access_bytes;   /* of the memory operand */
    uint8_t bytes[15];      /* as many as its length */
    uint64_t reads, writes; /* register sets, flags included */
    uint64_t address_reads; /* those that form the memory operand's address */
};

enum { CS_ISA_OP_TEXT = 96 };

/* Decodes one instruction at `bytes` (at most `size` of them). Always fills `out`; an undecodable byte is
 * INVALID. */
void cs_isa_op_decode(enum cs_isa isa, const uint8_t *bytes, size_t size, uint64_t offset,
                      struct cs_isa_op *out);

/* For llvm-mca: on x86-64 in Intel syntax, branch targets replaced by one label. Its bytes alone say it. */
void cs_isa_op_text(enum cs_isa isa, const struct cs_isa_op *op, char text[CS_ISA_OP_TEXT]);

/* Does `second`, following directly, fuse with `first` to one operation? */
int cs_isa_op_fused(const struct cs_isa_op *first, const struct cs_isa_op *second);
