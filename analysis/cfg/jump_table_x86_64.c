/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64. Forms that GCC and clang make (T table, I index):
 *      absolute   jmp *T(,I,8)          mov T(,I,8),R; jmp *R          mov (B,I,8),R; jmp *R    B = T
 *      relative   movslq (B,I,4),R; add B,R; jmp *R                    B = lea T(%rip)
 * Absolute tables in position-independent code get their entries from relative relocations. The base may be
 * loaded far before (hoisted out of a loop, or spilled). Then every `lea`, `mov $` of the procedure that
 * defines that register is tried. The bound is the `cmp $N; ja` or `and $N` before. Without one the table
 * ends where an entry is no instruction of the procedure, or where another table begins. */
#include "analysis/cfg/jump_table_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Mnemonic.h>

#define LOOK_BACK 60 /* instructions, for what the jump's operand is made of */
#define BASE_LOOK_BACK 2000
#define CANDIDATES_MAX 64

struct table {
    int64_t displacement; /* T where it stands in the operand */
    uint8_t base, index;  /* registers, CS_ISA_REG_NONE = none */
    uint8_t entry;        /* bytes: 4 relative to the base, 8 absolute */
    uint32_t load;        /* instruction that reads the table */
};

static bool writes(const struct cs_isa_insn *insn, uint8_t reg)
{
    return reg < 16 && (insn->writes & CS_ISA_REG_GPR(reg));
}

static uint8_t only_register(uint64_t set)
{
    uint64_t gpr = set & 0xffff;
    if (gpr == 0 || (gpr & (gpr - 1)))
        return CS_ISA_REG_NONE;
    return (uint8_t)__builtin_ctzll(gpr);
}

static bool is_move(const struct cs_isa_insn *insn)
{
    return insn->mnemonic == ZYDIS_MNEMONIC_MOV && !insn->n_memory && !insn->has_immediate;
}

/* The memory operand that a table is read through. */
static bool table_operand(const struct cs_isa_insn *insn, uint32_t i, uint8_t entry, struct table *t)
{
    const struct cs_isa_memory *m = &insn->memory[0];
    if (insn->n_memory == 0 || !m->reads || m->segment || m->stack || m->pc_relative)
        return false;
    uint8_t base = m->base, index = m->index;
    if (m->scale == 1 && index != CS_ISA_REG_NONE && base != CS_ISA_REG_NONE)
        return false;
    if (m->scale != entry) { /* an index scaled before; base + index alike */
        if (base == CS_ISA_REG_NONE)
            return false;
    }
    *t = (struct table){m->displacement, base, index, entry, i};
    return true;
}

/* Follows the jump's operand back to the load from the table. For a relative table `t->base` is the register
 * added. */
static bool find_load(const struct jump_scan *s, uint32_t jump, struct table *t)
{
    struct cs_isa_insn insn;
    if (!jump_decode(s, jump, &insn))
        return false;
    if (insn.n_memory)
        return table_operand(&insn, jump, 8, t);
    uint8_t wanted = only_register(insn.reads), added = CS_ISA_REG_NONE;
    for (uint32_t i = jump, steps = 0; i-- > 0 && steps < LOOK_BACK && wanted != CS_ISA_REG_NONE; steps++) {
        if (s->insns[i].flow == CS_ISA_FLOW_CALL && (wanted < 3 || (wanted > 5 && wanted < 12)))
            return false; /* a call changes those */
        if (!jump_decode(s, i, &insn) || !writes(&insn, wanted))
            continue;
        if (insn.mnemonic == ZYDIS_MNEMONIC_ADD && !insn.n_memory && !insn.has_immediate &&
            added == CS_ISA_REG_NONE) {
            added = only_register(insn.reads & ~CS_ISA_REG_GPR(wanted));
            if (added == CS_ISA_REG_NONE)
                return false;
            /* which of the two was loaded from the table? the one whose nearest definition is a load */
            for (uint32_t k = i; k-- > 0 && i - k < LOOK_BACK;) {
                struct cs_isa_insn before;
                if (!jump_decode(s, k, &before))
                    return false;
                if (before.mnemonic == ZYDIS_MNEMONIC_MOVSXD && before.n_memory &&
                    (writes(&before, wanted) || writes(&before, added))) {
                    if (writes(&before, added)) {
                        uint8_t swap = wanted;
                        wanted = added;
                        added = swap;
                    }
                    break;
                }
            }
            continue;
        }
        if (is_move(&insn)) {
            wanted = only_register(insn.reads);
            continue;
        }
        if (insn.mnemonic == ZYDIS_MNEMONIC_MOVSXD && insn.n_memory && added != CS_ISA_REG_NONE) {
            if (!table_operand(&insn, i, 4, t))
                return false;
            if (t->base != added && t->index == added && insn.memory[0].scale == 1) {
                t->index = t->base;
                t->base = added;
            }
            return t->base == added || t->base == CS_ISA_REG_NONE || t->displacement == 0;
        }
        if (insn.mnemonic == ZYDIS_MNEMONIC_MOV && insn.n_memory && added == CS_ISA_REG_NONE)
            return table_operand(&insn, i, 8, t);
        return false;
    }
    return false;
}

static bool constant(const struct jump_scan *s, const struct cs_isa_insn *insn, uint64_t *value)
{
    size_t n_bytes;
    if (insn->mnemonic == ZYDIS_MNEMONIC_LEA) {
        const uint8_t *bytes = cs_image_bytes_at(s->code, insn->offset, &n_bytes, NULL);
        int32_t displacement;
        /* lea disp32(%rip): the displacement is last, ModRM says mod 00, rm 101 */
        if (bytes && insn->length == 7 && (bytes[2] & 0xc7) == 0x05) {
            memcpy(&displacement, bytes + 3, 4);
            *value = insn->offset + 7 + (uint64_t)(int64_t)displacement;
            return true;
        }
        return false;
    }
    if (insn->mnemonic == ZYDIS_MNEMONIC_MOV && insn->has_immediate && !insn->n_memory) {
        *value = (uint64_t)insn->immediate;
        return true;
    }
    return false;
}

/* Constants that the register can hold at `use`: the nearest definition if that is one, else all of the
 * procedure. */
static uint32_t find_bases(const struct jump_scan *s, uint32_t use, uint8_t reg, uint64_t *bases)
{
    struct cs_isa_insn insn;
    uint32_t n = 0;
    uint8_t wanted = reg;
    for (uint32_t i = use, steps = 0; i-- > 0 && steps < BASE_LOOK_BACK; steps++) {
        if (!jump_decode(s, i, &insn) || !writes(&insn, wanted))
            continue;
        if (constant(s, &insn, &bases[0]))
            return 1;
        if (!is_move(&insn) || (wanted = only_register(insn.reads)) == CS_ISA_REG_NONE)
            break;
    }
    for (uint32_t i = 0; i < s->n && n < CANDIDATES_MAX; i++)
        if (s->insns[i].length == 7 && jump_decode(s, i, &insn) && insn.mnemonic == ZYDIS_MNEMONIC_LEA &&
            constant(s, &insn, &bases[n])) {
            bool again = false;
            for (uint32_t k = 0; k < n; k++)
                again |= bases[k] == bases[n];
            n += !again;
        }
    return n;
}

/* Number of entries by the comparison or mask before the load; JUMP_ENTRIES_MAX when there is none. */
static uint32_t bound(const struct jump_scan *s, uint32_t load)
{
    bool above = false;
    uint64_t compared = 0;
    for (uint32_t i = load, steps = 0; i-- > 0 && steps < 24; steps++) {
        struct cs_isa_insn insn;
        if (!jump_decode(s, i, &insn))
            break;
        if (insn.mnemonic == ZYDIS_MNEMONIC_JNBE || insn.mnemonic == ZYDIS_MNEMONIC_JNB)
            above = true;
        if (insn.mnemonic == ZYDIS_MNEMONIC_CMP && insn.has_immediate && above) {
            compared = (uint64_t)insn.immediate & 0xffffffff;
            return compared < JUMP_ENTRIES_MAX ? (uint32_t)compared + 1 : JUMP_ENTRIES_MAX;
        }
        if (insn.flow == CS_ISA_FLOW_JUMP || insn.flow == CS_ISA_FLOW_RETURN)
            break;
    }
    return JUMP_ENTRIES_MAX;
}

/* The frame is taken down just before: a call in tail position. */
static bool leaves_frame(const struct jump_scan *s, uint32_t jump)
{
    struct cs_isa_insn insn;
    return jump > 0 && jump_decode(s, jump - 1, &insn) &&
           (insn.mnemonic == ZYDIS_MNEMONIC_POP || insn.mnemonic == ZYDIS_MNEMONIC_LEAVE ||
            (insn.mnemonic == ZYDIS_MNEMONIC_ADD && (insn.writes & CS_ISA_REG_GPR(4))));
}

int jump_table_x86_64(const struct jump_scan *s, uint32_t jump, struct jump_targets *targets)
{
    struct table t;
    uint64_t bases[CANDIDATES_MAX + 1], to;
    uint32_t n_bases = 0, before = targets->n;
    if (leaves_frame(s, jump) || !find_load(s, jump, &t) ||
        (t.index == CS_ISA_REG_NONE && t.displacement != 0))
        return 2;
    if (t.base == CS_ISA_REG_NONE) {
        bases[n_bases++] = 0;
    } else
        n_bases = find_bases(s, t.load, t.base, bases);
    uint32_t limit = bound(s, t.load);
    bool certain = limit < JUMP_ENTRIES_MAX && n_bases == 1; /* its place and its length are known */
    for (uint32_t b = 0; b < n_bases; b++) {
        const struct jump_entries e = {.start = bases[b] + (uint64_t)t.displacement,
                                       .base = t.entry == 8 ? 0 : bases[b],
                                       .bytes = t.entry,
                                       .is_signed = true};
        uint32_t valid = 0;
        while (valid < limit && jump_entry_at(s, &e, valid, &to) &&
               (jump_to_instruction(s, to) || (certain && jump_to_code(s, to)))) {
            bool other = false; /* another table's start */
            for (uint32_t k = 0; k < n_bases && valid; k++)
                other |= k != b && bases[k] + (uint64_t)t.displacement == e.start + (uint64_t)e.bytes * valid;
            if (other)
                break;
            valid++;
        }
        if (valid < 2 || (certain && valid < limit))
            continue;
        for (uint32_t i = 0; i < valid; i++)
            if (jump_entry_at(s, &e, i, &to)) {
                if (!jump_to_instruction(s, to))
                    targets->outside = true;
                else if (jump_add_target(targets, to) < 0)
                    return -ENOMEM;
            }
    }
    return targets->n > before;
}
