/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/isa/semantics.h"
#include "image/isa/semantics_internal.h"

void cs_isa_op_decode(enum cs_isa isa, const uint8_t *bytes, size_t size, uint64_t offset,
                      struct cs_isa_op *out)
{
    if (isa == CS_ISA_AARCH64)
        op_decode_aarch64(bytes, size, offset, out);
    else if (isa == CS_ISA_RISCV64)
        op_decode_riscv64(bytes, size, offset, out);
    else
        op_decode_x86_64(bytes, size, offset, out);
}

int cs_isa_op_fused(const struct cs_isa_op *first, const struct cs_isa_op *second)
{
    return (second->flags & CS_ISA_OP_BRANCH) && (first->flags & CS_ISA_OP_FUSES) &&
           !(first->flags & CS_ISA_OP_STORE) && (second->reads & CS_ISA_OP_REG_FLAGS) &&
           first->offset + first->length == second->offset;
}
