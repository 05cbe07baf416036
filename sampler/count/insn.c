/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/count/insn.h"

#include <assert.h>

#ifdef __x86_64__
#define STATUS                                                                                               \
    (ZyanU32)(ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF | \
              ZYDIS_CPUFLAG_OF)
/* Constants that may be addresses of a program that isn't position-independent. */
#define ADDRESS_MIN 0x400000
#define ADDRESS_MAX 0x8000000

static bool changes_always(const struct cs_count_decoded *d)
{
    switch (d->insn.mnemonic) {
    case ZYDIS_MNEMONIC_SHL: /* by zero: not */
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SAR:
    case ZYDIS_MNEMONIC_SHLD:
    case ZYDIS_MNEMONIC_SHRD:
    case ZYDIS_MNEMONIC_ROL:
    case ZYDIS_MNEMONIC_ROR:
    case ZYDIS_MNEMONIC_RCL:
    case ZYDIS_MNEMONIC_RCR:
        return false;
    default:
        return !(d->insn.attributes &
                 (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE));
    }
}

static bool reads_flags(const struct cs_count_decoded *d)
{
    switch (d->insn.mnemonic) {
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFD:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_LAHF:
    case ZYDIS_MNEMONIC_SYSCALL:
        return true;
    default:
        return d->insn.cpu_flags && (d->insn.cpu_flags->tested & STATUS);
    }
}

bool cs_count_flags_are_dead(const struct cs_count_decoded *d, unsigned n)
{
    assert(d && n > 0);
    ZydisAccessedFlagsMask written = 0;
    for (unsigned i = 0; i < n && !reads_flags(&d[i]); i++) {
        const ZydisAccessedFlags *f = d[i].insn.cpu_flags;
        if (f && changes_always(&d[i]))
            written |= f->modified | f->set_0 | f->set_1 | f->undefined;
        if ((written & STATUS) == STATUS)
            return true;
    }
    return false;
}

/* Why it can't be translated; NULL: it can. */
const char *cs_count_refusal(const struct cs_count_decoded *d)
{
    switch (d->insn.mnemonic) {
    case ZYDIS_MNEMONIC_XBEGIN:
        return "it uses transactional memory (XBEGIN)";
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_INT:
        return "it enters the kernel in an unusual way";
    case ZYDIS_MNEMONIC_WRGSBASE:
    case ZYDIS_MNEMONIC_RDGSBASE:
    case ZYDIS_MNEMONIC_SWAPGS:
    case ZYDIS_MNEMONIC_LGS:
        return "it uses the segment register GS";
    default:
        break;
    }
    if (d->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
        return "it jumps to another segment";
    if ((d->insn.meta.category == ZYDIS_CATEGORY_CALL || d->insn.meta.category == ZYDIS_CATEGORY_RET) &&
        d->insn.operand_width == 16)
        return "it has a branch of 16 bits";
    for (unsigned i = 0; i < d->insn.operand_count; i++) {
        const ZydisDecodedOperand *o = &d->operand[i];
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.segment == ZYDIS_REGISTER_GS)
            return "it uses the segment register GS";
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->reg.value == ZYDIS_REGISTER_GS)
            return "it uses the segment register GS";
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_EIP)
            return "it has addresses of 32 bits";
    }
    return NULL;
}

bool cs_count_is_relative_branch(const struct cs_count_decoded *d)
{
    return d->operand[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && d->operand[0].imm.is_relative;
}

/* How it ends a block; CS_COUNT_NEXT: it doesn't. */
enum cs_count_end cs_count_end_of(const struct cs_count_decoded *d)
{
    switch (d->insn.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        return CS_COUNT_BRANCH;
    case ZYDIS_CATEGORY_UNCOND_BR:
        return d->insn.mnemonic == ZYDIS_MNEMONIC_JMP ? CS_COUNT_JUMP : CS_COUNT_NEXT;
    case ZYDIS_CATEGORY_CALL:
        return d->insn.mnemonic == ZYDIS_MNEMONIC_CALL ? CS_COUNT_CALL : CS_COUNT_NEXT;
    case ZYDIS_CATEGORY_RET:
        return CS_COUNT_RETURN;
    default:
        return CS_COUNT_NEXT;
    }
}

/* Nothing is behind it that is sure to be code. */
bool cs_count_stops(const struct cs_count_decoded *d)
{
    switch (d->insn.mnemonic) {
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_INT3:
        return true;
    default:
        return false;
    }
}

bool cs_count_is_relative_memory(const struct cs_count_decoded *d)
{
    for (unsigned i = 0; i < d->insn.operand_count; i++)
        if (d->operand[i].type == ZYDIS_OPERAND_TYPE_MEMORY && d->operand[i].mem.base == ZYDIS_REGISTER_RIP)
            return true;
    return false;
}

static bool may_be_address(int64_t value)
{
    return value >= ADDRESS_MIN && value < ADDRESS_MAX;
}

/* Of its bytes but for those that say where something lies. */
uint16_t cs_count_mix_of(const struct cs_count_decoded *d)
{
    const ZydisDecodedInstruction *z = &d->insn;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (unsigned i = 0; i < z->length; i++) {
        bool address = z->raw.disp.size == 32 && i >= z->raw.disp.offset && i < z->raw.disp.offset + 4U &&
                       (cs_count_is_relative_memory(d) || may_be_address(z->raw.disp.value));
        for (unsigned k = 0; k < 2; k++)
            address |= z->raw.imm[k].size && i >= z->raw.imm[k].offset &&
                       i < z->raw.imm[k].offset + z->raw.imm[k].size / 8U &&
                       (z->raw.imm[k].is_relative || may_be_address(z->raw.imm[k].value.s));
        hash = (hash ^ (address ? 0U : d->bytes[i])) * UINT64_C(0x100000001b3);
    }
    return (uint16_t)(hash ^ hash >> 16 ^ hash >> 32 ^ hash >> 48);
}
#endif
