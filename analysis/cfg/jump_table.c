/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses the search for jump tables by the image's instruction set. */
#include "analysis/cfg/jump_table.h"
#include "analysis/cfg/jump_table_internal.h"

#include <assert.h>

int cs_cfg_jump_table(struct cs_image_code *code, const struct cs_cfg_instruction *insns, uint32_t n_insns,
                      uint32_t jump, struct jump_targets *targets)
{
    assert(jump < n_insns);
    const struct jump_scan s = {code, cs_image_isa(code), insns, n_insns};
    return s.isa == CS_ISA_AARCH64   ? jump_table_aarch64(&s, jump, targets)
           : s.isa == CS_ISA_RISCV64 ? jump_table_riscv64(&s, jump, targets)
                                     : jump_table_x86_64(&s, jump, targets);
}
