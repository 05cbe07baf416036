/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RISC-V: from the decoder's operands and the instruction's word. Which pairs fuse differs by core: nothing is said to. */
#include "image/isa/decode_internal.h"
#include "image/isa/semantics_internal.h"

#include <stdio.h>
#include <string.h>

static uint32_t kind_flags(uint32_t w)
{
    uint32_t f3 = w >> 12 & 7, f7 = w >> 25, float_kind = w >> 27;
    switch (w & 0x7f) {
    case 0x33:
    case 0x3b:
        return f7 != 1 ? 0 : f3 < 4 ? CS_ISA_OP_MULTIPLY : CS_ISA_OP_DIVIDE;
    case 0x43:
    case 0x47:
    case 0x4b:
    case 0x4f:
        return CS_ISA_OP_FLOAT;
    case 0x53:
        return float_kind == 3 || float_kind == 0x0b ? CS_ISA_OP_FDIVIDE | CS_ISA_OP_FLOAT
               : float_kind < 3                      ? CS_ISA_OP_FLOAT
                                                     : 0;
    case 0x0f:
        return CS_ISA_OP_SERIALISE;
    case 0x73:
        return w == 0x73 ? CS_ISA_OP_SYSCALL : CS_ISA_OP_SERIALISE;
    default:
        return 0;
    }
}

/* From decode.h's bits to ours. What the scheduler leaves out as rsp's is tp, which programs don't write. */
static uint64_t registers(uint64_t set)
{
    return (set & 0xffff) | (set >> 32) << 16 | (set >> 17 & 0x7fff) << 49;
}

static uint64_t general(uint8_t number)
{
    return registers(cs_isa_register(CS_ISA_RISCV64, number));
}

/* What names a place gets the one label that the caller defines; a call is a jump to the model. */
static void write_text(const uint8_t *bytes, size_t size, const struct cs_isa_insn *insn, char *out)
{
    char text[CS_ISA_OP_TEXT];
    cs_isa_decode_text(CS_ISA_RISCV64, bytes, size, insn->offset, text, sizeof text);
    const char *last = strrchr(text, ',') ? strrchr(text, ',') + 1 : strrchr(text, ' ');
    if (insn->flow == CS_ISA_FLOW_CALL && last)
        snprintf(out, CS_ISA_OP_TEXT, "%s %.40s", insn->indirect ? "jr" : "j",
                 insn->indirect ? last : ".Lcs");
    else if (insn->target && last)
        snprintf(out, CS_ISA_OP_TEXT, "%.*s .Lcs", (int)(last - text), text);
    else
        snprintf(out, CS_ISA_OP_TEXT, "%s", text);
}

void op_decode_riscv64(const uint8_t *bytes, size_t size, uint64_t offset, struct cs_isa_op *out, char *text)
{
    struct cs_isa_insn insn;
    uint32_t word;
    *out = (struct cs_isa_op){.offset = offset, .length = 2, .flags = CS_ISA_OP_INVALID};
    if (!cs_isa_decode(CS_ISA_RISCV64, bytes, size, offset, &insn) || !riscv64_word(bytes, size, &word))
        return;
    op_take_decoded(&insn, &(struct op_registers){registers, general}, out);
    out->flags |= kind_flags(word);
    if (text)
        write_text(bytes, size, &insn, text);
}
