/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The burst runner: repeats natively, in an address space of its own, what a stopped thread is about to do.
 *
 * The runner is a process that contains nothing but itself, in [CS_BURST_BASE, + CS_BURST_SPAN). Copies of
 * the target's pages appear *at their own addresses* on first touch, so that instructions run unchanged, with
 * any extension that the machine has; only control transfers are translated, into code that notes the block
 * and goes to the translation of the target. A block of the target becomes, in the code cache:
 *
 *     note the block's number and, in slots, those registers that its memory operands need
 *     instructions, copied; a register that has changed before an operand needs it is noted there
 *     branch: to a translation, or to an exit stub, an address that can't be run, where the signal
 *         handler makes one
 *
 * Nothing counts instructions: the trace has room for as many bytes as that many instructions of this program
 * have lately taken, and ends in a page that can't be written; what is too much is cut off afterwards. None
 * of what is added changes a flag.
 *
 * Every way into and out of translated code is a page fault, which becomes a signal: a jump to an exit stub
 * enters (the handler puts the target's registers into the signal frame), touched pages are brought, jumps to
 * other exit stubs ask for translations, and the end restores the runner's own frame. The kernel saves and
 * restores the whole vector state on the way. Page faults, because they are the one exception that a
 * hypervisor leaves alone: 3.5 us from there to the handler and back, where `ud2` takes 11.
 *
 * A file calls only files above it in this list: first what every process needs, then the *replayer*, which
 * runs the target's code over copies of its pages, then pure readers of the trace, then the *holder*, which
 * stops the thread, reads its memory and times it.
 *
 * Files of this room:
 *   runner           what all files share
 *   sys              system calls
 *   libc             what the compiler calls by itself
 *   thread           threads of the runner's own, clocks, /proc
 *   timing_model     constants that measurement chose
 *   blocks           tables of translated blocks
 *   trace            the records of a burst and how to read them
 *   regions          the target's memory map
 *   fault_windows    regions whose pages come and go without changing mappings
 *   pages            copies of data pages
 *   code_pages       copies of code pages, for the translator
 *   decoder          loads libZydis's shared object into the runner
 *   instruction      what an instruction is to the translator
 *   register_slots   which registers a block notes, and when
 *   emit             the few instructions that the translator writes
 *   block_code       the parts of a block's translation
 *   translate        blocks of the target to blocks of the code cache
 *   signal_entry     into translated code and out of it, by signals
 *   memory_profile   what memory instructions and code touched
 *   branch_predictors  what branches did, by simulated predictors
 *   match_registers  where in the trace a register snapshot fits
 *   trace_to_rows    a trace to rows
 *   timing_samples   when to take snapshots, and from those to timed intervals
 *   polled_words     words of memory, read while the thread runs
 *   word_history     when the trace changes them
 *   trace_position   how far the thread was at each poll
 *   keep_cpu_awake   keeps the CPU of the stopped thread out of idle
 *   warm_caches      gives the thread its caches back
 *   timing           how fast it runs natively, once let go
 *   rights           may this thread be followed?
 *   verify           compares a trace with single-stepping
 *   alarm            goes off while a thread runs its own code
 *   stop_thread      stops a thread without its noticing, and makes a burst
 *   start            entry, own stack, empty address space, the loop over commands
 *
 * A *timed* burst goes on for some hundred thousand instructions, so that its trace covers what the thread
 * does in the next tenths of a millisecond. The thread is let go and polled from here while it runs what was
 * followed: how many instructions it ran in how much time. Nothing stops it again. Edges come from the whole
 * trace, other rows from its beginning, as of any burst.
 *
 * One thread runs at a time; all state is static, because the process is nothing else than this state. */
#ifndef CS_SAMPLER_BURST_RUNNER_RUNNER_H
#define CS_SAMPLER_BURST_RUNNER_RUNNER_H

#include "sampler/burst/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE 4096ULL

struct registers { /* as PTRACE_GETREGSET gives them */
    uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs,
        eflags, rsp, ss, fs_base, gs_base, ds, es, fs, gs;
};

#endif
