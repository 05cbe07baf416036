/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which way a thread goes from a sample with known registers and a known top of the stack. The code ahead is
 * interpreted over values of which any bit may be unknown. Where bursts aren't permitted these short paths
 * are what tells of branch directions.
 *
 * Files of this module:
 *   abstract_run           the walk: fetch, find out where control goes, execute
 *   abstract_run_internal  an instruction as the interpreter wants it, values, what a thread knows
 *   decode_op              an instruction out of the decoder's words
 *   execute_op             what an instruction does to values
 *   operands               registers, the noted stack, and constant memory
 *
 * A value that isn't known stays so through whatever is computed from it. The path ends at the first branch
 * whose direction or target depends on one. A call into unknown code (another image's stub, a pointer) is
 * stepped over. What the calling convention preserves stays known, the rest doesn't. Memory is the stack
 * that was noted, what the path itself wrote there, and what no program changes: segments that aren't
 * writable.
 *
 * What isn't exact: a store whose address isn't known is taken not to reach the part of the stack that is.
 *
 * x86-64 only. One owner a runner: not thread-safe, because it keeps what it has decoded (some 2 MB). May
 * include image and analysis/cfg/noreturn.h. */
#pragma once

#include "image/code.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_ABSTRACT_RUN_STEPS 16

struct cs_abstract_run_start {
    uint64_t pc, flags;   /* RFLAGS */
    uint64_t reg[16];     /* in the order of CS_ISA_REG_GPR */
    const uint8_t *stack; /* from reg[4], the stack pointer, on */
    size_t stack_bytes;
};

struct cs_abstract_run_step {
    uint64_t from, to; /* addresses: of a branch, jump, call or return, and where control went from it */
};

struct cs_abstract_run {
    unsigned n;
    struct cs_abstract_run_step step[CS_ABSTRACT_RUN_STEPS];
    uint64_t open; /* the branch that ended the path because what it depends on isn't known; 0: another end */
    unsigned n_ways;
    uint64_t way[2]; /* where it may go from there; none: anywhere */
};

/* The code at an address and its offset there; NULL: none that is known. It stays open until the runner is
 * closed or forgets. */
typedef struct cs_image_code *(*cs_abstract_run_code_fn)(void *arg, uint64_t address, uint64_t *offset);

struct cs_abstract_runner;
int cs_abstract_runner_open(cs_abstract_run_code_fn code_at, void *arg, struct cs_abstract_runner **out,
                            struct cs_error *err);
void cs_abstract_runner_close(struct cs_abstract_runner *runner);
/* Nothing of the code that was given so far is kept. */
void cs_abstract_runner_forget(struct cs_abstract_runner *runner);
/* All is one thread's, of a process in which `code_at` finds the code. A start in code that isn't known
 * gives an empty path. */
void cs_abstract_runner_run(struct cs_abstract_runner *runner, const struct cs_abstract_run_start *start,
                            struct cs_abstract_run *path);
