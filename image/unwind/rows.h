/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How to get from a frame to its caller, for each address of an image. A searcher in the kernel and one in user space
 * share it. Plain structs only; C and BPF C. unwind.h makes such tables, step.c is the reference for what is said here.
 *
 *     table = header | first[n_blocks + 1] | rows[n_rows] | rules[n_rules]        one piece of memory, 8-byte aligned
 *
 *     offset = vaddr - header.base            vaddr: ELF virtual address of the PC (as the store's offsets)
 *     offset >= header.end                    → no rows here (CS_UNWIND_NONE)
 *     block  = offset >> CS_UNWIND_BLOCK_BITS
 *     the row is the last one of rows[first[block]] … rows[first[block + 1] - 1] with row.at <= (offset & (CS_UNWIND_BLOCK - 1));
 *     there is always one: a block's first row has at = 0. What differs is row.rule, an index into rules.
 *
 * Which PC: a leaf's (interrupted there, or interrupted by a signal) is looked up as it is. A return address is looked
 * up minus 1, because a call may be the last instruction of its function.
 *
 * A step, from {PC, SP, FP, BX, and in a leaf all other registers} to the caller's. FP is rbp or x29; BX is rbx
 * (AArch64: unused, bx_at is 0). Offsets are bytes. `*(x)` is 8 bytes of the program's memory.
 *
 *  1. by rule.cfa
 *     CS_UNWIND_NONE           nothing is said here (no CFI). Guess by frame pointer: F = FP; F % 8 == 0, F >= SP; PC' = *(F + 8),
 *                              FP' = *(F), SP' = F + 16; PC' must be code, else the end: CS_UNWIND_END_NO_ROWS
 *                              AArch64: SP' isn't known after this (a frame record lies at its frame's lower end): a later rule
 *                              that needs SP is replaced by this one, without F >= SP
 *     CS_UNWIND_FRAME_POINTER  the image keeps frame pointers by its ABI (Go): the same, but F may lie on another stack than SP,
 *                              and F == 0 is CS_UNWIND_END_COMPLETE
 *     CS_UNWIND_SIGNAL         a signal's return code: SP points at what the kernel pushed. All registers come from there (offsets
 *                              CS_UNWIND_X86_SIGNAL_…, CS_UNWIND_ARM_SIGNAL_… from SP); the frame found is a leaf. Done
 *     CS_UNWIND_OUTERMOST      nobody called this: CS_UNWIND_END_COMPLETE
 *     CS_UNWIND_UNSUPPORTED    said in a way that the table doesn't hold: CS_UNWIND_END_UNSUPPORTED
 *     CS_UNWIND_SP             CFA = SP + cfa_offset
 *     CS_UNWIND_FP             CFA = FP + cfa_offset
 *     CS_UNWIND_BX             CFA = BX + cfa_offset
 *     CS_UNWIND_AT_SP          CFA = *(SP + cfa_offset) + second
 *     CS_UNWIND_AT_FP          CFA = *(FP + cfa_offset) + second            (a realigned stack)
 *     CS_UNWIND_PLT            CFA = SP + cfa_offset + ((PC & 15) >= second ? 8 : 0)
 *     CS_UNWIND_REGISTER       CFA = register cfa_reg + cfa_offset, in a leaf; else CS_UNWIND_END_REGISTER
 *  2. by rule.ra
 *     CS_UNWIND_SAVED          PC' = *(CFA + ra_at)                         (x86-64: ra_at is -8)
 *     CS_UNWIND_KEPT           PC' = register ra_at (its number), in a leaf; else CS_UNWIND_END_REGISTER  (AArch64: 30, the link register)
 *     either | CS_UNWIND_SIGNED: clear the bits of PC' above those of a user address (pointer authentication). Doing so always is
 *                              harmless on AArch64
 *     PC' == 0 is CS_UNWIND_END_COMPLETE
 *  3. by rule.fp
 *     CS_UNWIND_KEPT           FP' = FP
 *     CS_UNWIND_SAVED          FP' = *(CFA + fp_at)
 *     CS_UNWIND_SAVED_AT_FP    FP' = *(FP + fp_at)                          (a realigned stack)
 *     CS_UNWIND_LOST           FP' isn't known; only a later step that needs it fails (CS_UNWIND_END_REGISTER)
 *  4. by rule.bx_at: 0 → BX' = BX; CS_UNWIND_BX_LOST → not known; else BX' = *(CFA + bx_at)
 *  5. SP' = CFA. It must be above SP (a leaf that has pushed nothing yet on AArch64: may be equal), else
 *     CS_UNWIND_END_STUCK
 *
 * Only rows of the step's own table are trusted by their maker. All else is the program's and hostile. A reader bounds
 * depth and checks first[] and rule against the sizes it loaded. */
#pragma once

#include <linux/types.h>

#define CS_UNWIND_BLOCK_BITS 12 /* of a row's place; at most 16 */
#define CS_UNWIND_BLOCK (1U << CS_UNWIND_BLOCK_BITS)
#define CS_UNWIND_RULES_MAX 65536U

enum cs_unwind_cfa {
    CS_UNWIND_NONE, /* 0, and so is all of rules[0] */
    CS_UNWIND_FRAME_POINTER,
    CS_UNWIND_SIGNAL,
    CS_UNWIND_OUTERMOST,
    CS_UNWIND_UNSUPPORTED,
    CS_UNWIND_SP,
    CS_UNWIND_FP,
    CS_UNWIND_BX,
    CS_UNWIND_AT_SP,
    CS_UNWIND_AT_FP,
    CS_UNWIND_PLT,
    CS_UNWIND_REGISTER,
};

enum cs_unwind_saved {
    CS_UNWIND_KEPT, /* in its register */
    CS_UNWIND_SAVED,
    CS_UNWIND_SAVED_AT_FP,
    CS_UNWIND_LOST,
    CS_UNWIND_SIGNED = 0x80,
};
#define CS_UNWIND_BX_LOST 1 /* no register is saved at an odd address */

/* Why a chain ended. */
enum cs_unwind_end {
    CS_UNWIND_END_COMPLETE,     /* at the program's or the thread's beginning */
    CS_UNWIND_END_DEPTH,        /* the bound of frames */
    CS_UNWIND_END_NO_IMAGE,     /* the PC lies in no known image, and frame pointers lead nowhere */
    CS_UNWIND_END_NO_ROWS,      /* the image says nothing there, and frame pointers lead nowhere */
    CS_UNWIND_END_UNSUPPORTED,  /* the image says it in a way that isn't held */
    CS_UNWIND_END_REGISTER,     /* needs a register whose value there isn't known */
    CS_UNWIND_END_MEMORY,       /* the stack can't be read */
    CS_UNWIND_END_STUCK,        /* the stack doesn't get shorter */
    CS_UNWIND_END_NOT_LOADED,   /* the image's table isn't in the kernel (yet) */
    CS_UNWIND_END_OVER_UNKNOWN, /* at the beginning, but a frame in between lies in no known image */
    CS_UNWIND_ENDS,
};

struct cs_unwind_header {
    __u64 base;    /* ELF virtual address of offset 0, a multiple of a block */
    __u64 end;     /* offset behind the last address that is described; at most 4 GB */
    __u32 machine; /* EM_X86_64, EM_AARCH64 */
    __u32 n_blocks, n_rows, n_rules;
    __u32 unsupported; /* rows whose rule is CS_UNWIND_UNSUPPORTED */
    __u32 flags;       /* 0 */
};

struct cs_unwind_row {
    __u16 at;   /* within the block */
    __u16 rule; /* from here to the next row */
};

struct cs_unwind_rule {
    __u8 cfa;     /* enum cs_unwind_cfa */
    __u8 cfa_reg; /* DWARF number, of CS_UNWIND_REGISTER */
    __u8 ra, fp;  /* enum cs_unwind_saved */
    __s32 cfa_offset;
    __s16 second, ra_at, fp_at, bx_at;
};

/* Where a signal's frame holds registers, from SP in its return code (rt_sigreturn). x86-64: SP points at struct ucontext. */
#define CS_UNWIND_X86_SIGNAL_FP 120
#define CS_UNWIND_X86_SIGNAL_BX 128
#define CS_UNWIND_X86_SIGNAL_SP 160
#define CS_UNWIND_X86_SIGNAL_PC 168
/* x86-64: what a function may use below SP, which no signal writes to (System V ABI, 3.2.2). At a `ret` rows still say that a
 * register lies there which has been popped. */
#define CS_UNWIND_X86_RED_ZONE 128
/* AArch64: siginfo (128), then struct ucontext, whose registers x0 … x30, sp, pc begin at 184. */
#define CS_UNWIND_ARM_SIGNAL_X0 312
#define CS_UNWIND_ARM_SIGNAL_FP (CS_UNWIND_ARM_SIGNAL_X0 + 29 * 8)
#define CS_UNWIND_ARM_SIGNAL_LR (CS_UNWIND_ARM_SIGNAL_X0 + 30 * 8)
#define CS_UNWIND_ARM_SIGNAL_SP (CS_UNWIND_ARM_SIGNAL_X0 + 31 * 8)
#define CS_UNWIND_ARM_SIGNAL_PC (CS_UNWIND_ARM_SIGNAL_X0 + 32 * 8)
