/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread's user registers as each architecture has them. Included by unwind.bpf.h.
 * ABOVE_STACK: where the C library keeps what it knows of a thread, right above that thread's stack. */
#pragma once

#ifdef __TARGET_ARCH_arm64
struct pt_regs { /* the kernel's own, of which user space's headers have no part here */
    __u64 regs[31], sp, pc, pstate;
} __attribute__((preserve_access_index));
#define TAKE_REGISTERS(s, r)                                                                                 \
    ({                                                                                                       \
        (s)->pc = (r)->pc;                                                                                   \
        (s)->sp = (r)->sp;                                                                                   \
        (s)->fp = (r)->regs[29];                                                                             \
        (s)->reg[30] = (r)->regs[30];                                                                        \
        (s)->reg[29] = (s)->fp;                                                                              \
        (s)->reg[31] = (s)->sp;                                                                              \
    })
#define SP_NUMBER 31
#define THREAD_SELF 0 /* not known there */
#define ABOVE_STACK                                                                                          \
    OF(CURRENT_TASK(), thread.uw.tp_value) /* set by clone(): as it is for all threads but the first */
#define MODE(r) ((r)->pstate & 0x10)
#define IS_NARROW(mode) ((mode) != 0) /* AArch32 */
#elif defined(__TARGET_ARCH_riscv)
/* The kernel's own registers and user space's begin alike. Frame records aren't where other machines have them. */
#define TAKE_REGISTERS(s, r)                                                                                 \
    ({                                                                                                       \
        const struct user_regs_struct *taken = (const void *)(r);                                            \
        (s)->pc = taken->pc;                                                                                 \
        (s)->sp = (s)->reg[2] = taken->sp;                                                                   \
        (s)->fp = (s)->reg[8] = taken->s0;                                                                   \
        (s)->reg[1] = taken->ra;                                                                             \
        (s)->fp_lost = 1;                                                                                    \
    })
#define SP_NUMBER 2
#define THREAD_SELF 0 /* not known there */
#define ABOVE_STACK THREAD_SELF
#define MODE(r) 0
#define IS_NARROW(mode) ((mode) != 0) /* never */
#else
#define TAKE_REGISTERS(s, r)                                                                                 \
    ({                                                                                                       \
        (s)->pc = (r)->rip;                                                                                  \
        (s)->sp = (r)->rsp;                                                                                  \
        (s)->fp = (r)->rbp;                                                                                  \
        (s)->bx = (r)->rbx;                                                                                  \
        (s)->reg[0] = (r)->rax, (s)->reg[1] = (r)->rdx, (s)->reg[2] = (r)->rcx, (s)->reg[3] = (r)->rbx;      \
        (s)->reg[4] = (r)->rsi, (s)->reg[5] = (r)->rdi, (s)->reg[6] = (r)->rbp, (s)->reg[7] = (r)->rsp;      \
        (s)->reg[8] = (r)->r8, (s)->reg[9] = (r)->r9, (s)->reg[10] = (r)->r10, (s)->reg[11] = (r)->r11;      \
        (s)->reg[12] = (r)->r12, (s)->reg[13] = (r)->r13, (s)->reg[14] = (r)->r14, (s)->reg[15] = (r)->r15;  \
    })
#define SP_NUMBER 7
#define THREAD_SELF OF(CURRENT_TASK(), thread.fsbase) /* what pthread_self() is */
#define ABOVE_STACK THREAD_SELF
#define MODE(r) ((r)->cs)
#define IS_NARROW(mode) ((mode) == 0x23) /* 32-bit code */
#endif

#ifdef __TARGET_ARCH_riscv
#define REGISTERS_BYTES sizeof(struct user_regs_struct)
#else
#define REGISTERS_BYTES sizeof(struct pt_regs)
#endif
