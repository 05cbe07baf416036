/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64 by Zydis, to what the interpreter wants. What it doesn't know by name it knows by what it writes. */
#include "analysis/interpret/abstract_run_internal.h"

#include <Zydis/Zydis.h>

static const struct {
    uint16_t mnemonic;
    uint8_t kind;
} kinds[] = {
    {ZYDIS_MNEMONIC_NOP, PATH_NOTHING},
    {ZYDIS_MNEMONIC_ENDBR64, PATH_NOTHING},
    {ZYDIS_MNEMONIC_MOV, PATH_MOVE},
    {ZYDIS_MNEMONIC_MOVZX, PATH_MOVE},
    {ZYDIS_MNEMONIC_MOVSX, PATH_MOVE_SIGNED},
    {ZYDIS_MNEMONIC_MOVSXD, PATH_MOVE_SIGNED},
    {ZYDIS_MNEMONIC_LEA, PATH_ADDRESS},
    {ZYDIS_MNEMONIC_ADD, PATH_ADD},
    {ZYDIS_MNEMONIC_ADC, PATH_ADD_CARRY},
    {ZYDIS_MNEMONIC_SUB, PATH_SUBTRACT},
    {ZYDIS_MNEMONIC_SBB, PATH_SUBTRACT_BORROW},
    {ZYDIS_MNEMONIC_CMP, PATH_COMPARE},
    {ZYDIS_MNEMONIC_AND, PATH_AND},
    {ZYDIS_MNEMONIC_OR, PATH_OR},
    {ZYDIS_MNEMONIC_XOR, PATH_XOR},
    {ZYDIS_MNEMONIC_TEST, PATH_TEST},
    {ZYDIS_MNEMONIC_NOT, PATH_NOT},
    {ZYDIS_MNEMONIC_NEG, PATH_NEGATE},
    {ZYDIS_MNEMONIC_INC, PATH_INCREMENT},
    {ZYDIS_MNEMONIC_DEC, PATH_DECREMENT},
    {ZYDIS_MNEMONIC_SHL, PATH_SHIFT_LEFT},
    {ZYDIS_MNEMONIC_SHR, PATH_SHIFT_RIGHT},
    {ZYDIS_MNEMONIC_SAR, PATH_SHIFT_SIGNED},
    {ZYDIS_MNEMONIC_SHLX, PATH_SHIFT_LEFT},
    {ZYDIS_MNEMONIC_SHRX, PATH_SHIFT_RIGHT},
    {ZYDIS_MNEMONIC_SARX, PATH_SHIFT_SIGNED},
    {ZYDIS_MNEMONIC_IMUL, PATH_MULTIPLY},
    {ZYDIS_MNEMONIC_BT, PATH_BIT_TEST},
    {ZYDIS_MNEMONIC_BSWAP, PATH_SWAP},
    {ZYDIS_MNEMONIC_TZCNT, PATH_COUNT_TRAILING},
    {ZYDIS_MNEMONIC_CBW, PATH_WIDEN},
    {ZYDIS_MNEMONIC_CWDE, PATH_WIDEN},
    {ZYDIS_MNEMONIC_CDQE, PATH_WIDEN},
    {ZYDIS_MNEMONIC_CWD, PATH_SIGN_INTO},
    {ZYDIS_MNEMONIC_CDQ, PATH_SIGN_INTO},
    {ZYDIS_MNEMONIC_CQO, PATH_SIGN_INTO},
    {ZYDIS_MNEMONIC_PUSH, PATH_PUSH},
    {ZYDIS_MNEMONIC_POP, PATH_POP},
    {ZYDIS_MNEMONIC_LEAVE, PATH_LEAVE},
    {ZYDIS_MNEMONIC_JMP, PATH_JUMP},
    {ZYDIS_MNEMONIC_CALL, PATH_CALL},
    {ZYDIS_MNEMONIC_RET, PATH_RETURN},
    {ZYDIS_MNEMONIC_SYSCALL, PATH_END},
    {ZYDIS_MNEMONIC_UD2, PATH_END},
    {ZYDIS_MNEMONIC_INT3, PATH_END},
    {ZYDIS_MNEMONIC_HLT, PATH_END},
    {ZYDIS_MNEMONIC_XBEGIN, PATH_END},
    {ZYDIS_MNEMONIC_JRCXZ, PATH_BRANCH_UNKNOWN},
    {ZYDIS_MNEMONIC_JECXZ, PATH_BRANCH_UNKNOWN},
    {ZYDIS_MNEMONIC_LOOP, PATH_BRANCH_UNKNOWN},
    {ZYDIS_MNEMONIC_LOOPE, PATH_BRANCH_UNKNOWN},
    {ZYDIS_MNEMONIC_LOOPNE, PATH_BRANCH_UNKNOWN},
};

/* The low four bits of the last opcode byte of jcc, setcc and cmovcc are the condition. */
static uint8_t kind_of(const ZydisDecodedInstruction *z)
{
    bool two_bytes = z->opcode_map == ZYDIS_OPCODE_MAP_0F && z->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
    if ((two_bytes && z->opcode >> 4 == 8) ||
        (z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && z->opcode >> 4 == 7))
        return PATH_BRANCH;
    if (two_bytes && z->opcode >> 4 == 9)
        return PATH_SET;
    if (two_bytes && z->opcode >> 4 == 4)
        return PATH_MOVE_IF;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].mnemonic == z->mnemonic)
            return kinds[i].kind;
    return PATH_OTHER;
}

/* 0 … 15, or CS_ISA_REG_NONE. */
static uint8_t general(ZydisRegister reg)
{
    if (reg == ZYDIS_REGISTER_NONE || reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP)
        return CS_ISA_REG_NONE;
    ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    return ZydisRegisterGetClass(wide) == ZYDIS_REGCLASS_GPR64 ? (uint8_t)ZydisRegisterGetId(wide)
                                                               : CS_ISA_REG_NONE;
}

static void set_memory(const ZydisDecodedOperand *o, uint64_t next, struct path_op *op)
{
    op->memory.base = general(o->mem.base);
    op->memory.index = general(o->mem.index);
    op->memory.scale = o->mem.scale;
    op->memory.displacement = o->mem.disp.has_displacement ? o->mem.disp.value : 0;
    op->memory.relative = o->mem.base == ZYDIS_REGISTER_RIP;
    op->memory.known =
        o->mem.segment != ZYDIS_REGISTER_FS && o->mem.segment != ZYDIS_REGISTER_GS &&
        o->mem.type != ZYDIS_MEMOP_TYPE_VSIB && o->mem.base != ZYDIS_REGISTER_EIP &&
        (op->memory.base == CS_ISA_REG_NONE || ZydisRegisterGetClass(o->mem.base) == ZYDIS_REGCLASS_GPR64);
    op->memory.bytes = (uint16_t)(o->size / 8);
    if (op->memory.relative)
        op->memory.displacement += (int64_t)next;
}

/* false: not a register, number or place that the interpreter computes with. */
static bool operand_of(const ZydisDecodedOperand *o, uint64_t next, struct path_op *op,
                       struct path_operand *out)
{
    *out = (struct path_operand){.bits = (uint8_t)o->size};
    if (o->size != 8 && o->size != 16 && o->size != 32 && o->size != 64)
        return false;
    switch (o->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        out->where = PATH_REGISTER;
        out->reg = general(o->reg.value);
        out->shift = o->reg.value >= ZYDIS_REGISTER_AH && o->reg.value <= ZYDIS_REGISTER_BH ? 8 : 0;
        return out->reg != CS_ISA_REG_NONE;
    case ZYDIS_OPERAND_TYPE_MEMORY:
        out->where = PATH_MEMORY;
        set_memory(o, next, op);
        return true;
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        out->where = PATH_IMMEDIATE;
        op->immediate = o->imm.is_signed ? o->imm.value.s : (int64_t)o->imm.value.u;
        return true;
    default:
        return false;
    }
}

/* What is written, and how much of it. */
static void effects_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *operands, uint64_t next,
                       struct path_op *op)
{
    op->kind = PATH_OTHER;
    for (int i = 0; i < z->operand_count; i++) {
        const ZydisDecodedOperand *o = &operands[i];
        if (!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            continue;
        uint8_t reg = o->type == ZYDIS_OPERAND_TYPE_REGISTER ? general(o->reg.value) : CS_ISA_REG_NONE;
        if (reg < 16)
            op->registers |= (uint16_t)(1U << reg);
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
            set_memory(o, next, op);
            op->memory.written = true;
        }
    }
    op->spoils_stack = op->memory.written && (z->meta.category == ZYDIS_CATEGORY_STRINGOP ||
                                              z->meta.category == ZYDIS_CATEGORY_XSAVE ||
                                              z->meta.category == ZYDIS_CATEGORY_XSAVEOPT);
    if (z->cpu_flags)
        op->flags =
            z->cpu_flags->modified | z->cpu_flags->set_0 | z->cpu_flags->set_1 | z->cpu_flags->undefined;
}

/* Zydis gives `mul`-like forms their implied operands; the interpreter knows those with explicit ones. */
static bool arrange(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, uint64_t next,
                    struct path_op *op)
{
    unsigned n = z->operand_count_visible;
    switch (op->kind) {
    case PATH_NOTHING:
    case PATH_END:
    case PATH_LEAVE:
        return true;
    case PATH_WIDEN:
    case PATH_SIGN_INTO:
        op->dst.bits = z->operand_width;
        return true;
    case PATH_RETURN:
        op->immediate = n ? (int64_t)o[0].imm.value.u : 0;
        return true;
    case PATH_BRANCH:
    case PATH_BRANCH_UNKNOWN:
    case PATH_JUMP:
    case PATH_CALL:
        if (z->raw.imm[0].size && z->raw.imm[0].is_relative) {
            op->target = next + (uint64_t)z->raw.imm[0].value.s;
            return true;
        }
        return operand_of(&o[0], next, op, &op->src);
    case PATH_PUSH:
        return o[0].size == 64 && operand_of(&o[0], next, op, &op->src);
    case PATH_POP:
        return o[0].size == 64 && o[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
               operand_of(&o[0], next, op, &op->dst);
    case PATH_ADDRESS:
        set_memory(&o[1], next, op);
        return operand_of(&o[0], next, op, &op->dst);
    case PATH_MULTIPLY:
        if (n < 2 || !operand_of(&o[0], next, op, &op->dst) || !operand_of(&o[1], next, op, &op->src2))
            return false;
        if (n == 3)
            return operand_of(&o[2], next, op, &op->src);
        op->src = op->src2;
        op->src2 = op->dst;
        return true;
    case PATH_SHIFT_LEFT:
    case PATH_SHIFT_RIGHT:
    case PATH_SHIFT_SIGNED: /* dst = src2 shifted by src */
        op->keeps_flags = n == 3;
        if (n < 2 || !operand_of(&o[0], next, op, &op->dst) || !operand_of(&o[n - 1], next, op, &op->src))
            return false;
        op->src2 = op->dst;
        return n < 3 || operand_of(&o[1], next, op, &op->src2);
    case PATH_NOT:
    case PATH_NEGATE:
    case PATH_INCREMENT:
    case PATH_DECREMENT:
    case PATH_SWAP:
    case PATH_SET:
        return n == 1 && operand_of(&o[0], next, op, &op->dst);
    default:
        return n == 2 && operand_of(&o[0], next, op, &op->dst) && operand_of(&o[1], next, op, &op->src);
    }
}

bool path_decode(const uint8_t *bytes, size_t n, uint64_t offset, struct path_op *op)
{
    static const struct path_op none = {.memory = {.base = CS_ISA_REG_NONE, .index = CS_ISA_REG_NONE}};
    ZydisDecoder decoder;
    ZydisDecodedInstruction z;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (n == 0 || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &z, operands)))
        return false;
    uint64_t next = offset + z.length;
    *op = none;
    op->kind = kind_of(&z);
    if (op->kind != PATH_OTHER && !arrange(&z, operands, next, op)) {
        *op = none;
        op->kind = PATH_OTHER;
    }
    if (op->kind == PATH_OTHER)
        effects_of(&z, operands, next, op);
    op->length = z.length;
    op->condition = z.opcode & 15;
    return true;
}
