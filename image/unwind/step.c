/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/unwind/step.h"
#include "image/unwind/unwind.h"

#include <elf.h>

#define USER_ADDRESS ((UINT64_C(1) << 48) - 1)

struct numbers {
    unsigned sp, fp, bx;
};

static struct numbers numbers_of(uint32_t machine)
{
    return machine == EM_AARCH64 ? (struct numbers){31, 29, CS_UNWIND_REGISTERS} : (struct numbers){7, 6, 3};
}

static bool knows(const struct cs_unwind_frame *f, unsigned reg)
{
    return reg < CS_UNWIND_REGISTERS && (f->known >> reg & 1);
}

static void put(struct cs_unwind_frame *f, unsigned reg, uint64_t value)
{
    if (reg < CS_UNWIND_REGISTERS) {
        f->registers[reg] = value;
        f->known |= 1U << reg;
    }
}

static enum cs_unwind_end from_signal(struct cs_unwind_frame *f, const struct cs_unwind_space *space)
{
    /* where the kernel puts the registers of DWARF's numbers, from SP */
    static const uint8_t x86[16] = {144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96};
    bool arm = space->machine == EM_AARCH64;
    uint64_t sp = f->registers[arm ? 31 : 7], value;
    f->known = 0;
    for (unsigned i = 0; i < (arm ? 32U : 16U); i++) {
        if (!space->read(space->arg, sp + (arm ? CS_UNWIND_ARM_SIGNAL_X0 + 8 * i : x86[i]), &value))
            return CS_UNWIND_END_MEMORY;
        put(f, i, value);
    }
    if (!space->read(space->arg, sp + (arm ? CS_UNWIND_ARM_SIGNAL_PC : CS_UNWIND_X86_SIGNAL_PC), &f->pc))
        return CS_UNWIND_END_MEMORY;
    f->leaf = true;
    return CS_UNWIND_GOES_ON;
}

/* Nothing is described, so frame pointers are tried. */
static enum cs_unwind_end by_frame_pointer(struct cs_unwind_frame *f, const struct cs_unwind_space *space,
                                           bool by_abi, enum cs_unwind_end otherwise)
{
    const struct numbers r = numbers_of(space->machine);
    uint64_t at = f->registers[r.fp], pc, fp, unused;
    bool code = false;
    if (!knows(f, r.fp))
        return otherwise;
    if (by_abi && at == 0)
        return CS_UNWIND_END_COMPLETE;
    if (at % 8 || (!by_abi && knows(f, r.sp) && at < f->registers[r.sp]) ||
        !space->read(space->arg, at, &fp) || !space->read(space->arg, at + 8, &pc) || fp == at)
        return otherwise;
    if (by_abi && pc == 0)
        return CS_UNWIND_END_COMPLETE;
    if (space->machine == EM_AARCH64)
        pc &= USER_ADDRESS;
    space->table_at(space->arg, pc - 1, &unused, &code);
    if (!code)
        return otherwise;
    f->known = 0;
    put(f, r.fp, fp);
    if (space->machine != EM_AARCH64)
        put(f, r.sp, at + 16);
    f->pc = pc;
    f->leaf = false;
    return CS_UNWIND_GOES_ON;
}

static enum cs_unwind_end cfa_of(const struct cs_unwind_frame *f, const struct cs_unwind_rule *rule,
                                 const struct cs_unwind_space *space, uint64_t *cfa)
{
    const struct numbers r = numbers_of(space->machine);
    unsigned base = rule->cfa == CS_UNWIND_FP || rule->cfa == CS_UNWIND_AT_FP ? r.fp
                    : rule->cfa == CS_UNWIND_BX                               ? r.bx
                    : rule->cfa == CS_UNWIND_REGISTER                         ? rule->cfa_reg
                                                                              : r.sp;
    if (!knows(f, base) || (rule->cfa == CS_UNWIND_REGISTER && !f->leaf))
        return CS_UNWIND_END_REGISTER;
    *cfa = f->registers[base] + (uint64_t)(int64_t)rule->cfa_offset;
    if (rule->cfa == CS_UNWIND_PLT && (int)(f->pc & 15) >= rule->second)
        *cfa += 8;
    if (rule->cfa == CS_UNWIND_AT_SP || rule->cfa == CS_UNWIND_AT_FP) {
        if (!space->read(space->arg, *cfa, cfa))
            return CS_UNWIND_END_MEMORY;
        *cfa += (uint64_t)(int64_t)rule->second;
    }
    return CS_UNWIND_GOES_ON;
}

enum cs_unwind_end cs_unwind_step(struct cs_unwind_frame *f, const struct cs_unwind_rule *rule,
                                  const struct cs_unwind_space *space)
{
    const struct numbers r = numbers_of(space->machine);
    uint64_t cfa, pc, value;
    if (!rule)
        return by_frame_pointer(f, space, false, CS_UNWIND_END_NO_IMAGE);
    if (rule->cfa == CS_UNWIND_NONE || rule->cfa == CS_UNWIND_FRAME_POINTER)
        return by_frame_pointer(f, space, rule->cfa == CS_UNWIND_FRAME_POINTER, CS_UNWIND_END_NO_ROWS);
    if (rule->cfa == CS_UNWIND_SIGNAL)
        return knows(f, r.sp) ? from_signal(f, space) : CS_UNWIND_END_REGISTER;
    if (rule->cfa == CS_UNWIND_OUTERMOST)
        return CS_UNWIND_END_COMPLETE;
    if (rule->cfa == CS_UNWIND_UNSUPPORTED)
        return CS_UNWIND_END_UNSUPPORTED;
    if (!knows(f, r.sp) && rule->cfa != CS_UNWIND_FP && rule->cfa != CS_UNWIND_AT_FP)
        return by_frame_pointer(f, space, false, CS_UNWIND_END_REGISTER);
    enum cs_unwind_end end = cfa_of(f, rule, space, &cfa);
    if (end != CS_UNWIND_GOES_ON)
        return end;
    if (knows(f, r.sp) && (cfa < f->registers[r.sp] || (cfa == f->registers[r.sp] && !f->leaf)))
        return CS_UNWIND_END_STUCK;

    if ((rule->ra & ~CS_UNWIND_SIGNED) == CS_UNWIND_SAVED) {
        if (!space->read(space->arg, cfa + (uint64_t)(int64_t)rule->ra_at, &pc))
            return CS_UNWIND_END_MEMORY;
    } else {
        if (!f->leaf || !knows(f, (unsigned)rule->ra_at))
            return CS_UNWIND_END_REGISTER;
        pc = f->registers[rule->ra_at];
    }
    if (space->machine == EM_AARCH64)
        pc &= USER_ADDRESS;
    if (pc == 0)
        return CS_UNWIND_END_COMPLETE;

    uint32_t kept = 1U << r.sp;
    if (r.bx < CS_UNWIND_REGISTERS && rule->bx_at != CS_UNWIND_BX_LOST) {
        kept |= f->known & 1U << r.bx;
        if (rule->bx_at && space->read(space->arg, cfa + (uint64_t)(int64_t)rule->bx_at, &value)) {
            f->registers[r.bx] = value;
            kept |= 1U << r.bx;
        } else if (rule->bx_at) {
            kept &= ~(1U << r.bx);
        }
    }
    if (rule->fp == CS_UNWIND_KEPT) {
        kept |= f->known & 1U << r.fp;
    } else if (rule->fp != CS_UNWIND_LOST) {
        uint64_t from = rule->fp == CS_UNWIND_SAVED ? cfa : f->registers[r.fp];
        if ((rule->fp == CS_UNWIND_SAVED || knows(f, r.fp)) &&
            space->read(space->arg, from + (uint64_t)(int64_t)rule->fp_at, &value)) {
            f->registers[r.fp] = value;
            kept |= 1U << r.fp;
        }
    }
    f->registers[r.sp] = cfa;
    f->known = kept;
    f->pc = pc;
    f->leaf = false;
    return CS_UNWIND_GOES_ON;
}

enum cs_unwind_end cs_unwind_chain(struct cs_unwind_frame *frame, const struct cs_unwind_space *space,
                                   uint64_t *pcs, size_t room, size_t *n)
{
    bool unknown = false;
    for (*n = 0; *n < room;) {
        uint64_t to_vaddr = 0, looked_up = frame->pc - !frame->leaf;
        bool code = false;
        const struct cs_unwind_header *table = space->table_at(space->arg, looked_up, &to_vaddr, &code);
        unknown |= !code;
        pcs[(*n)++] = frame->pc;
        enum cs_unwind_end end =
            cs_unwind_step(frame, table ? cs_unwind_rule_at(table, looked_up + to_vaddr) : NULL, space);
        if (end != CS_UNWIND_GOES_ON)
            return end == CS_UNWIND_END_COMPLETE && unknown ? CS_UNWIND_END_OVER_UNKNOWN : end;
    }
    return CS_UNWIND_END_DEPTH;
}
