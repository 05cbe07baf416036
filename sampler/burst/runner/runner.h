/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The burst runner: repeats natively, in an address space of its own, what a stopped thread is about to do.
 *
 * The replayer is a process that contains nothing but itself, in [CS_BURST_BASE, + CS_BURST_SPAN). Copies of
 * the target's pages appear *at their own addresses* on first touch. So instructions run unchanged, with any
 * extension that the machine has. Only branches are translated, into code that notes the block and goes to
 * the translation of the target. A block of the target becomes, in the code cache:
 *
 *     note the block's number and, in slots, those registers that its memory operands need
 *     instructions, copied; a register that has changed before an operand needs it is noted there
 *     branch: to a translation, or to an exit stub, an address that can't be run, where the signal
 *         handler makes one
 *
 * Nothing counts instructions. The trace is as long as this number of instructions of this program has
 * lately taken. It ends in a page that can't be written. What is too much is cut off afterwards. None of
 * what is added changes a flag.
 *
 * Every way into and out of translated code is a page fault, which becomes a signal. A jump to an exit stub
 * enters: the handler puts the target's registers into the signal frame. Touched pages are brought, and jumps
 * to other exit stubs ask for translations. The end restores the runner's own frame. The kernel saves and
 * restores the whole vector state on the way. Page faults are the one exception that a hypervisor doesn't
 * intercept: 3.5 us to the handler and back, where `ud2` takes 11.
 *
 * Two processes share the work. The *holder* (sampler/burst/holder/) stops threads and reads their memory, with
 * the profiler's rights, and never runs foreign code. The *replayer* (sampler/burst/replayer/) runs it, and has
 * no rights. They talk by a piece of shared memory (boundary.h), in which all that the replayer writes is a
 * stranger's word.
 *
 * Files of this module:
 *   runner           what all files share
 *   boundary         the memory that both share, and who believes what
 *   sys              system calls
 *   libc             what the compiler calls by itself
 *   present_pages    which pages of the target are in memory
 *   thread           threads of the runner's own, clocks, /proc
 *   timing_model     constants that measurement chose
 *
 * A *timed* burst goes on for some hundred thousand instructions. So its trace covers what the thread does
 * in the next tenths of a millisecond. The thread is let go and polled from here while it runs what was
 * followed: how many instructions it ran in how much time. Nothing stops it again. Edges come from the whole
 * trace, other rows from its beginning, as of any burst.
 *
 * One thread runs at a time; all state is static, because the process is nothing else than this state. */
#pragma once

#include "sampler/burst/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE 4096ULL

extern uint8_t image_start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
#define CS_BURST_BASE ((uint64_t)image_start)

struct registers { /* as PTRACE_GETREGSET gives them */
    uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs,
        eflags, rsp, ss, fs_base, gs_base, ds, es, fs, gs;
};
