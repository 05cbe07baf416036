/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AArch64: from the decoder's operands and the instruction's name. Cores of this architecture fuse little,
 * and which pairs differs by core: nothing is said to fuse. */
#include "image/isa/semantics_internal.h"

#include <stdio.h>
#include <string.h>

static const struct kind {
    const char *stem; /* a name that begins so; "=" first: that is so */
    uint32_t flags;
} kinds[] = {
    {"=udiv", CS_ISA_OP_DIVIDE},
    {"=sdiv", CS_ISA_OP_DIVIDE},
    {"fdiv", CS_ISA_OP_FDIVIDE | CS_ISA_OP_FLOAT},
    {"fsqrt", CS_ISA_OP_FDIVIDE | CS_ISA_OP_FLOAT},
    {"mul", CS_ISA_OP_MULTIPLY},
    {"madd", CS_ISA_OP_MULTIPLY},
    {"msub", CS_ISA_OP_MULTIPLY},
    {"mneg", CS_ISA_OP_MULTIPLY},
    {"smul", CS_ISA_OP_MULTIPLY},
    {"umul", CS_ISA_OP_MULTIPLY},
    {"smadd", CS_ISA_OP_MULTIPLY},
    {"umadd", CS_ISA_OP_MULTIPLY},
    {"smsub", CS_ISA_OP_MULTIPLY},
    {"umsub", CS_ISA_OP_MULTIPLY},
    {"=dmb", CS_ISA_OP_SERIALISE},
    {"=dsb", CS_ISA_OP_SERIALISE},
    {"=isb", CS_ISA_OP_SERIALISE},
    {"=yield", CS_ISA_OP_SERIALISE},
    {"=wfe", CS_ISA_OP_SERIALISE},
    {"=svc", CS_ISA_OP_SYSCALL},
    {"prfm", CS_ISA_OP_PREFETCH},
    {"stnp", CS_ISA_OP_NONTEMPORAL},
    {"ldnp", CS_ISA_OP_NONTEMPORAL},
    {"fadd", CS_ISA_OP_FLOAT},
    {"fsub", CS_ISA_OP_FLOAT},
    {"fmul", CS_ISA_OP_FLOAT},
    {"fmadd", CS_ISA_OP_FLOAT},
    {"fmsub", CS_ISA_OP_FLOAT},
    {"fnmadd", CS_ISA_OP_FLOAT},
    {"fnmsub", CS_ISA_OP_FLOAT},
    {"fmla", CS_ISA_OP_FLOAT},
    {"fmls", CS_ISA_OP_FLOAT},
    {"fnmul", CS_ISA_OP_FLOAT},
    {"=cmp", CS_ISA_OP_FLAGS_ONLY},
    {"=cmn", CS_ISA_OP_FLAGS_ONLY},
    {"=tst", CS_ISA_OP_FLAGS_ONLY},
};

static bool is_kind(const struct kind *kind, const char *name)
{
    if (kind->stem[0] == '=')
        return strcmp(kind->stem + 1, name) == 0;
    return strncmp(kind->stem, name, strlen(kind->stem)) == 0;
}

/* From decode.h's bits to ours. The scheduler leaves rsp's bit out of dependencies: there must be no x4. */
static uint64_t registers(uint64_t set)
{
    uint64_t low = set & 0xffff, high = set >> 17 & 0x7fff, x4 = low & CS_ISA_OP_REG_RSP ? 2 : 0;
    return (low & ~CS_ISA_OP_REG_RSP) | (set >> 32) << 16 |
           (set & CS_ISA_REG_FLAGS ? CS_ISA_OP_REG_FLAGS : 0) | (high | x4) << 49;
}

static uint64_t general(uint8_t number)
{
    if (number >= 31)
        return 0; /* none, or sp */
    return registers(cs_isa_register(CS_ISA_AARCH64, number));
}

/* What names a place gets the one label that the caller defines; a call is a jump to the model. */
static void write_text(const uint8_t *bytes, size_t size, const struct cs_isa_insn *insn,
                       const struct cs_isa_op *op, char *out)
{
    char text[CS_ISA_OP_TEXT];
    cs_isa_decode_text(CS_ISA_AARCH64, bytes, size, insn->offset, text, sizeof text);
    bool literal = insn->n_memory && insn->memory[0].pc_relative;
    char *last = strrchr(text, ' ');
    if ((op->flags & CS_ISA_OP_CALL) && last)
        snprintf(out, CS_ISA_OP_TEXT, "%s%.20s", insn->indirect ? "br" : "b",
                 insn->indirect ? last : " .Lcs");
    else if (last && (insn->target || literal || strncmp(text, "adr", 3) == 0))
        snprintf(out, CS_ISA_OP_TEXT, "%.*s .Lcs", (int)(last - text < 80 ? last - text : 80), text);
    else
        snprintf(out, CS_ISA_OP_TEXT, "%s", text);
}

void op_decode_aarch64(const uint8_t *bytes, size_t size, uint64_t offset, struct cs_isa_op *out, char *text)
{
    struct cs_isa_insn insn;
    *out = (struct cs_isa_op){.offset = offset, .length = 4, .flags = CS_ISA_OP_INVALID};
    if (!cs_isa_decode(CS_ISA_AARCH64, bytes, size, offset, &insn))
        return;
    op_take_decoded(&insn, &(struct op_registers){registers, general}, out);
    char own[CS_ISA_OP_TEXT], name[16];
    text = text ? text : own;
    write_text(bytes, size, &insn, out, text);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " ."), text);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (is_kind(&kinds[i], name))
            out->flags |= kinds[i].flags;
}
