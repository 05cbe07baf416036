/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64 by Zydis. */
#include "image/isa/semantics_internal.h"

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static uint64_t register_bit(ZydisRegister reg)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    if (whole == ZYDIS_REGISTER_NONE) /* the x87 stack's */
        whole = reg;
    ZyanI8 id = ZydisRegisterGetId(whole);
    switch (ZydisRegisterGetClass(whole)) {
    case ZYDIS_REGCLASS_GPR64:
        return UINT64_C(1) << (id & 15);
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
        return UINT64_C(1) << (16 + (id & 31));
    case ZYDIS_REGCLASS_FLAGS:
        return CS_ISA_OP_REG_FLAGS;
    case ZYDIS_REGCLASS_MASK:
        return UINT64_C(1) << (49 + (id & 7));
    case ZYDIS_REGCLASS_X87:
    case ZYDIS_REGCLASS_MMX:
        return UINT64_C(1) << 57;
    default:
        return 0;
    }
}

struct kind {
    ZydisMnemonic first, last; /* Zydis numbers mnemonics alphabetically */
    uint32_t flags;
};

static const struct kind kinds[] = {
    {ZYDIS_MNEMONIC_DIV, ZYDIS_MNEMONIC_DIV, CS_ISA_OP_DIVIDE},
    {ZYDIS_MNEMONIC_IDIV, ZYDIS_MNEMONIC_IDIV, CS_ISA_OP_DIVIDE},
    {ZYDIS_MNEMONIC_DIVPD, ZYDIS_MNEMONIC_DIVSS, CS_ISA_OP_FDIVIDE | CS_ISA_OP_FLOAT},
    {ZYDIS_MNEMONIC_VDIVPD, ZYDIS_MNEMONIC_VDIVSS, CS_ISA_OP_FDIVIDE | CS_ISA_OP_FLOAT},
    {ZYDIS_MNEMONIC_SQRTPD, ZYDIS_MNEMONIC_SQRTSS, CS_ISA_OP_FDIVIDE | CS_ISA_OP_FLOAT},
    {ZYDIS_MNEMONIC_VSQRTPD, ZYDIS_MNEMONIC_VSQRTSS, CS_ISA_OP_FDIVIDE | CS_ISA_OP_FLOAT},
    {ZYDIS_MNEMONIC_FDIV, ZYDIS_MNEMONIC_FDIVRP, CS_ISA_OP_FDIVIDE | CS_ISA_OP_FLOAT},
    {ZYDIS_MNEMONIC_FSQRT, ZYDIS_MNEMONIC_FSQRT, CS_ISA_OP_FDIVIDE | CS_ISA_OP_FLOAT},
    {ZYDIS_MNEMONIC_IMUL, ZYDIS_MNEMONIC_IMUL, CS_ISA_OP_MULTIPLY},
    {ZYDIS_MNEMONIC_MUL, ZYDIS_MNEMONIC_MUL, CS_ISA_OP_MULTIPLY},
    {ZYDIS_MNEMONIC_MULX, ZYDIS_MNEMONIC_MULX, CS_ISA_OP_MULTIPLY},
    {ZYDIS_MNEMONIC_CPUID, ZYDIS_MNEMONIC_CPUID, CS_ISA_OP_SERIALISE},
    {ZYDIS_MNEMONIC_MFENCE, ZYDIS_MNEMONIC_MFENCE, CS_ISA_OP_SERIALISE},
    {ZYDIS_MNEMONIC_LFENCE, ZYDIS_MNEMONIC_LFENCE, CS_ISA_OP_SERIALISE},
    {ZYDIS_MNEMONIC_SFENCE, ZYDIS_MNEMONIC_SFENCE, CS_ISA_OP_SERIALISE},
    {ZYDIS_MNEMONIC_RDTSC, ZYDIS_MNEMONIC_RDTSCP, CS_ISA_OP_SERIALISE},
    {ZYDIS_MNEMONIC_PAUSE, ZYDIS_MNEMONIC_PAUSE, CS_ISA_OP_SERIALISE},
    {ZYDIS_MNEMONIC_LDMXCSR, ZYDIS_MNEMONIC_LDMXCSR, CS_ISA_OP_SERIALISE},
    {ZYDIS_MNEMONIC_SYSCALL, ZYDIS_MNEMONIC_SYSCALL, CS_ISA_OP_SYSCALL},
    {ZYDIS_MNEMONIC_PREFETCH, ZYDIS_MNEMONIC_PREFETCHWT1, CS_ISA_OP_PREFETCH},
    {ZYDIS_MNEMONIC_MOVNTDQ, ZYDIS_MNEMONIC_MOVNTSS, CS_ISA_OP_NONTEMPORAL},
    {ZYDIS_MNEMONIC_VMOVNTDQ, ZYDIS_MNEMONIC_VMOVNTPS, CS_ISA_OP_NONTEMPORAL},
    {ZYDIS_MNEMONIC_CMP, ZYDIS_MNEMONIC_CMP, CS_ISA_OP_FLAGS_ONLY | CS_ISA_OP_FUSES},
    {ZYDIS_MNEMONIC_TEST, ZYDIS_MNEMONIC_TEST, CS_ISA_OP_FLAGS_ONLY | CS_ISA_OP_FUSES},
    {ZYDIS_MNEMONIC_ADD, ZYDIS_MNEMONIC_ADD, CS_ISA_OP_FUSES},
    {ZYDIS_MNEMONIC_SUB, ZYDIS_MNEMONIC_SUB, CS_ISA_OP_FUSES},
    {ZYDIS_MNEMONIC_AND, ZYDIS_MNEMONIC_AND, CS_ISA_OP_FUSES},
    {ZYDIS_MNEMONIC_INC, ZYDIS_MNEMONIC_INC, CS_ISA_OP_FUSES},
    {ZYDIS_MNEMONIC_DEC, ZYDIS_MNEMONIC_DEC, CS_ISA_OP_FUSES},
};

/* Floating-point arithmetic whose slow path a denormal takes: name stems, scalar and packed, with or without
 * v. */
static bool is_float_arithmetic(const char *name)
{
    static const char *const stems[] = {"add", "sub", "mul", "fma", "fmadd", "fmsub", "fnmadd", "fnmsub"};
    if (*name == 'v')
        name++;
    size_t n = strlen(name);
    if (n < 5)
        return false;
    const char *end = name + n - 2;
    if (strcmp(end, "sd") && strcmp(end, "ss") && strcmp(end, "pd") && strcmp(end, "ps"))
        return false;
    for (size_t i = 0; i < sizeof stems / sizeof stems[0]; i++)
        if (!strncmp(name, stems[i], strlen(stems[i])))
            return true;
    return false;
}

static uint32_t kind_flags(const ZydisDecodedInstruction *in)
{
    uint32_t flags = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (in->mnemonic >= kinds[i].first && in->mnemonic <= kinds[i].last)
            flags |= kinds[i].flags;
    const char *name = ZydisMnemonicGetString(in->mnemonic);
    if (name && is_float_arithmetic(name))
        flags |= CS_ISA_OP_FLOAT;
    if (name && strstr(name, "gather"))
        flags |= CS_ISA_OP_GATHER;
    switch (in->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        flags |= CS_ISA_OP_BRANCH;
        break;
    case ZYDIS_CATEGORY_UNCOND_BR:
        flags |= CS_ISA_OP_JUMP;
        break;
    case ZYDIS_CATEGORY_CALL:
        flags |= CS_ISA_OP_CALL;
        break;
    case ZYDIS_CATEGORY_RET:
        flags |= CS_ISA_OP_RETURN;
        break;
    default:
        break;
    }
    if (in->attributes & ZYDIS_ATTRIB_HAS_LOCK)
        flags |= CS_ISA_OP_LOCK;
    if (in->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
        flags |= CS_ISA_OP_REPEAT;
    return flags;
}

static void take_operand(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o,
                         struct cs_isa_op *out)
{
    if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        uint64_t bit = register_bit(o->reg.value);
        if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
            out->reads |= bit;
        if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            out->writes |= bit;
        /* %al or %ax are merged into what the rest of %rax holds. */
        if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE && o->size < 32)
            out->reads |= bit & 0xffff;
        const bool part = o->size < 32 && bit & 0xffff && !(o->actions & ZYDIS_OPERAND_ACTION_MASK_READ),
                   stack = ZydisRegisterGetClass(o->reg.value) == ZYDIS_REGCLASS_X87 &&
                           o->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
        if ((part || stack) && o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            out->flags |= CS_ISA_OP_MERGES;
        if (bit >> 16 & 0xffffffff)
            out->flags |= CS_ISA_OP_VECTOR;
    } else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
        uint64_t address = register_bit(o->mem.base) | register_bit(o->mem.index);
        out->reads |= address;
        if (o->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
            return;
        out->address_reads |= address;
        if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ && !(out->flags & CS_ISA_OP_PREFETCH))
            out->flags |= CS_ISA_OP_LOAD;
        if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            out->flags |= CS_ISA_OP_STORE;
        if (in->mnemonic == ZYDIS_MNEMONIC_XCHG)
            out->flags |= CS_ISA_OP_LOCK;
        unsigned bytes = o->size / 8;
        if (bytes > out->access_bytes)
            out->access_bytes = bytes > 255 ? 255 : (uint8_t)bytes;
    }
    if ((out->flags & (CS_ISA_OP_CALL | CS_ISA_OP_JUMP)) &&
        o->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT && o->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
        out->flags |= CS_ISA_OP_INDIRECT;
}

/* The text: branches and calls go to one label that the caller defines; a call is a jump to the model, which
 * would charge 100 cycles to it else. */
static void write_text(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                       const struct cs_isa_op *op, char *text)
{
    static const char label[] = ".Lcs";
    if (op->flags & CS_ISA_OP_CALL && !(op->flags & CS_ISA_OP_LOAD && op->flags & CS_ISA_OP_INDIRECT)) {
        snprintf(text, CS_ISA_OP_TEXT, "jmp %s", label);
        return;
    }
    if (op->flags & (CS_ISA_OP_BRANCH | CS_ISA_OP_JUMP) && !(op->flags & CS_ISA_OP_INDIRECT)) {
        snprintf(text, CS_ISA_OP_TEXT, "%s %s", ZydisMnemonicGetString(in->mnemonic), label);
        return;
    }
    ZydisFormatter formatter;
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_TRUE);
    if (!ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, in, operands, in->operand_count_visible,
                                                      text, CS_ISA_OP_TEXT, ZYDIS_RUNTIME_ADDRESS_NONE,
                                                      NULL)))
        snprintf(text, CS_ISA_OP_TEXT, "nop");
    if (op->flags & CS_ISA_OP_CALL) /* indirect through memory: keep the load */
        memcpy(text, "jmp ", 4), memmove(text + 4, text + 5, strlen(text + 5) + 1);
}

void op_decode_x86_64(const uint8_t *bytes, size_t size, uint64_t offset, struct cs_isa_op *out, char *text)
{
    static const ZydisDecoder none;
    ZydisDecoder decoder = none;
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    *out = (struct cs_isa_op){.offset = offset, .length = 1, .flags = CS_ISA_OP_INVALID};
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size, &in, operands)))
        return;
    out->length = in.length;
    out->flags = kind_flags(&in);
    for (unsigned i = 0; i < in.operand_count; i++)
        take_operand(&in, &operands[i], out);
    if (in.cpu_flags) {
        if (in.cpu_flags->tested)
            out->reads |= CS_ISA_OP_REG_FLAGS;
        if (in.cpu_flags->modified | in.cpu_flags->set_0 | in.cpu_flags->set_1)
            out->writes |= CS_ISA_OP_REG_FLAGS;
    }
    /* A register combined with itself is no input: xor r,r and its vector forms. */
    if (in.operand_count_visible >= 2 && operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        operands[in.operand_count_visible - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        operands[in.operand_count_visible - 2].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        operands[in.operand_count_visible - 1].reg.value ==
            operands[in.operand_count_visible - 2].reg.value) {
        const char *name = ZydisMnemonicGetString(in.mnemonic);
        if (name && (strstr(name, "xor") || (in.mnemonic == ZYDIS_MNEMONIC_SUB)))
            out->reads = 0;
    }
    if ((out->flags & (CS_ISA_OP_BRANCH | CS_ISA_OP_JUMP | CS_ISA_OP_CALL)) &&
        !(out->flags & CS_ISA_OP_INDIRECT))
        for (unsigned i = 0; i < in.operand_count_visible; i++)
            if (operands[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operands[i].imm.is_relative)
                out->target = offset + in.length + (uint64_t)operands[i].imm.value.s;
    if (text)
        write_text(&in, operands, out, text);
}
