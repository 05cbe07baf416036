/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/isa/semantics.h"
#include "image/isa/semantics_internal.h"

#include <assert.h>
#include <stdio.h>

static void decode(enum cs_isa isa, const uint8_t *bytes, size_t size, uint64_t offset, struct cs_isa_op *out,
                   char *text)
{
    if (isa == CS_ISA_AARCH64)
        op_decode_aarch64(bytes, size, offset, out, text);
    else if (isa == CS_ISA_RISCV64)
        op_decode_riscv64(bytes, size, offset, out, text);
    else
        op_decode_x86_64(bytes, size, offset, out, text);
}

void cs_isa_op_decode(enum cs_isa isa, const uint8_t *bytes, size_t size, uint64_t offset,
                      struct cs_isa_op *out)
{
    decode(isa, bytes, size, offset, out, NULL);
    for (size_t i = 0; i < out->length && i < size && i < sizeof out->bytes; i++)
        out->bytes[i] = bytes[i];
}

void cs_isa_op_text(enum cs_isa isa, const struct cs_isa_op *op, char text[CS_ISA_OP_TEXT])
{
    struct cs_isa_op again;
    snprintf(text, CS_ISA_OP_TEXT, "nop"); /* what doesn't decode */
    if (!(op->flags & CS_ISA_OP_INVALID))
        decode(isa, op->bytes, op->length, op->offset, &again, text);
}

static uint32_t flow_flags(const struct cs_isa_insn *insn)
{
    static const uint32_t flags[] = {
        [CS_ISA_FLOW_NEXT] = 0,
        [CS_ISA_FLOW_BRANCH] = CS_ISA_OP_BRANCH,
        [CS_ISA_FLOW_JUMP] = CS_ISA_OP_JUMP,
        [CS_ISA_FLOW_CALL] = CS_ISA_OP_CALL,
        [CS_ISA_FLOW_RETURN] = CS_ISA_OP_RETURN,
        [CS_ISA_FLOW_STOP] = 0,
    };
    return flags[insn->flow] | (insn->indirect ? (uint32_t)CS_ISA_OP_INDIRECT : 0);
}

void op_take_decoded(const struct cs_isa_insn *insn, const struct op_registers *registers,
                     struct cs_isa_op *out)
{
    assert(insn->length > 0);
    out->length = insn->length;
    out->target = insn->target;
    out->flags = flow_flags(insn) | (insn->locked ? (uint32_t)CS_ISA_OP_LOCK : 0);
    out->reads = registers->of_set(insn->reads);
    out->writes = registers->of_set(insn->writes);
    if ((insn->reads | insn->writes) >> 32)
        out->flags |= CS_ISA_OP_VECTOR;
    for (unsigned i = 0; i < insn->n_memory; i++) {
        const struct cs_isa_memory *m = &insn->memory[i];
        out->flags |= (m->reads ? (uint32_t)CS_ISA_OP_LOAD : 0) | (m->writes ? (uint32_t)CS_ISA_OP_STORE : 0);
        out->access_bytes = m->width;
        out->address_reads |= registers->general(m->base) | registers->general(m->index);
    }
}

int cs_isa_op_fused(const struct cs_isa_op *first, const struct cs_isa_op *second)
{
    return (second->flags & CS_ISA_OP_BRANCH) && (first->flags & CS_ISA_OP_FUSES) &&
           !(first->flags & CS_ISA_OP_STORE) && (second->reads & CS_ISA_OP_REG_FLAGS) &&
           first->offset + first->length == second->offset;
}
