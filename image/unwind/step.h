/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A step from a frame to its caller by a rule of rows.h, and whole chains. It is the reference for the kernel's side,
 * and it unwinds copies of stacks. Pure: registers and callbacks in, registers out; any thread. Memory and registers
 * may be hostile: a chain has a bound, and each step makes the stack shorter or ends it.
 *
 *     struct cs_unwind_frame frame = {.leaf = true, .known = CS_UNWIND_KNOWS_ALL, .registers = {...}, .pc = ..., .sp = ...};
 *     uint64_t pcs[127];
 *     size_t n;
 *     enum cs_unwind_end end = cs_unwind_chain(&frame, &space, pcs, 127, &n); // pcs[0] is frame.pc, then return addresses
 */
#pragma once

#include "image/unwind/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_UNWIND_REGISTERS 32 /* by DWARF's numbers: x86-64 0 … 15, AArch64 0 … 31 */
#define CS_UNWIND_KNOWS_ALL UINT32_MAX
#define CS_UNWIND_GOES_ON CS_UNWIND_ENDS

struct cs_unwind_frame {
    uint64_t pc;
    uint64_t registers[CS_UNWIND_REGISTERS]; /* SP is registers[7] (AArch64: 31), FP [6] (29), BX [3] */
    uint32_t known;                          /* a bit each */
    bool leaf;                               /* pc was about to run; else it is a return address */
};

struct cs_unwind_space {
    /* The program's memory; false: can't be read. */
    bool (*read)(void *arg, uint64_t addr, uint64_t *value);
    /* The table of the image at `pc`, and what must be added to an address for the image's own; NULL: no table there. `code` says
     * whether it may be code at all. */
    const struct cs_unwind_header *(*table_at)(void *arg, uint64_t pc, uint64_t *to_vaddr, bool *code);
    void *arg;
    uint32_t machine; /* EM_X86_64, EM_AARCH64 */
};

/* CS_UNWIND_GOES_ON and `frame` is the caller's, or why not. `rule` as found for frame->pc, NULL where there is no table. */
enum cs_unwind_end cs_unwind_step(struct cs_unwind_frame *frame, const struct cs_unwind_rule *rule,
                                  const struct cs_unwind_space *space);
enum cs_unwind_end cs_unwind_chain(struct cs_unwind_frame *frame, const struct cs_unwind_space *space,
                                   uint64_t *pcs, size_t room, size_t *n);
