/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the instructions of a frame description and gives the rule of each stretch of code, as rows.h has them. DWARF 5
 * section 6.4.2; AArch64: DWARF for the Arm 64-bit Architecture, section 4.8. Only CFA, return address and the
 * registers that a CFA is made of are followed. Internal to image/unwind/. */
#pragma once

#include "image/file/eh_frame.h"
#include "image/unwind/rows.h"

enum { CFI_FP, CFI_BX, CFI_SP, CFI_RA, CFI_REGISTERS };

struct cfi_state {
    struct cfi_cfa {
        uint64_t reg;
        int64_t offset;
        struct reader expression; /* at NULL: reg + offset */
    } cfa;
    struct cfi_saved {
        enum cfi_how { CFI_SAME, CFI_UNDEFINED, CFI_OFFSET, CFI_REGISTER, CFI_EXPRESSION, CFI_OTHER } how;
        int64_t offset; /* or the register */
        struct reader expression;
    } saved[CFI_REGISTERS];
    bool is_signed;
};

struct cfi_runner {
    uint32_t machine;   /* EM_X86_64, EM_AARCH64 */
    uint64_t work_left; /* instructions until all is given up: a bound on hostile files */
    const struct cfi_section *section;
    uint64_t initial_of; /* the common part whose state this is; UINT64_MAX = none */
    struct cfi_state initial;
};

/* Calls `row` in ascending order of address, the first at the description's start: from there on `rule` holds. */
void cs_cfi_rows(struct cfi_runner *runner, const struct cfi_description *description,
                 void (*row)(uint64_t address, const struct cs_unwind_rule *rule, void *arg), void *arg);
