/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an instruction is to the translator: whether a burst can run it, and how it ends a block. Pure. */
#include "sampler/burst/replayer/translator/instruction.h"

unsigned general(ZydisRegister reg)
{
    if (reg == ZYDIS_REGISTER_NONE)
        return 16;
    ZydisRegister whole = decoder.enclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15 ? (unsigned)(whole - ZYDIS_REGISTER_RAX)
                                                                      : 16;
}

/* Instructions that end a burst: what they do depends on more than registers and memory, or changes more. */
enum cs_burst_cause stops(const struct decoded *d)
{
    switch (d->insn.mnemonic) {
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_SYSENTER:
        return CS_BURST_SYSCALL;
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
        return CS_BURST_TRAP;
    case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED:
        return CS_BURST_RANDOM;
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XEND:
    case ZYDIS_MNEMONIC_XABORT:
    case ZYDIS_MNEMONIC_XTEST:
        return CS_BURST_TRANSACTION;
    case ZYDIS_MNEMONIC_WRPKRU:
    case ZYDIS_MNEMONIC_RDPKRU:
    case ZYDIS_MNEMONIC_WRGSBASE:
    case ZYDIS_MNEMONIC_SWAPGS:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_UMWAIT:
    case ZYDIS_MNEMONIC_TPAUSE:
    case ZYDIS_MNEMONIC_MWAITX:
    case ZYDIS_MNEMONIC_MWAIT:
    case ZYDIS_MNEMONIC_LFS:
    case ZYDIS_MNEMONIC_LGS:
    case ZYDIS_MNEMONIC_LSS:
    case ZYDIS_MNEMONIC_VMCALL:
    case ZYDIS_MNEMONIC_VMMCALL:
    case ZYDIS_MNEMONIC_IN:
    case ZYDIS_MNEMONIC_OUT:
    case ZYDIS_MNEMONIC_ENQCMD:
    case ZYDIS_MNEMONIC_CPUID: /* traps to the hypervisor, for long */
        return CS_BURST_UNSUPPORTED;
    default:
        break;
    }
    if (d->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
        return CS_BURST_UNSUPPORTED;
    for (unsigned i = 0; i < d->insn.operand_count; i++) {
        const ZydisDecodedOperand *o = &d->operands[i];
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
            o->reg.value >= ZYDIS_REGISTER_ES && o->reg.value <= ZYDIS_REGISTER_GS)
            return CS_BURST_UNSUPPORTED;
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_EIP)
            return CS_BURST_UNSUPPORTED;
    }
    return CS_BURST_FULL;
}

int end_of(const struct decoded *d)
{
    bool direct = d->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && d->operands[0].imm.is_relative;
    switch (d->insn.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        return END_COND;
    case ZYDIS_CATEGORY_UNCOND_BR:
        return direct ? END_JUMP : END_IJUMP;
    case ZYDIS_CATEGORY_CALL:
        return direct ? END_CALL : END_ICALL;
    case ZYDIS_CATEGORY_RET:
        return END_RET;
    default:
        return END_FALL;
    }
}
