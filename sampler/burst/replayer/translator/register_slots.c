/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which registers a block's memory operands need, and when each must be noted. That is at the block's start
 * where its value is still the same, else just before the instruction. Where the stack pointer only moved by
 * constants, its value at the start serves. */
#include "sampler/burst/replayer/translator/register_slots.h"
#include "sampler/burst/runner/libc.h"

/* What is known of each register at the instruction looked at. */
static struct {
    int slot;      /* that holds its value less `moved`; -1: none */
    int64_t moved; /* since the slot's value, or since the block's start */
    bool changed;  /* since the block's start, otherwise than by `moved` */
} known[16];
struct slot_note capture_slots[BLOCK_SLOTS_MAX];
#define EARLY_MAX 12 /* the entry needs a register for itself */
unsigned n_slots;
static unsigned n_early;

void capture_begin(void)
{
    n_slots = n_early = 0;
    memset(known, 0, sizeof known);
    for (unsigned reg = 0; reg < 16; reg++)
        known[reg].slot = -1;
}

static uint8_t slot_for(unsigned reg, unsigned number)
{
    if (reg == 16)
        return NO_SLOT;
    if (known[reg].slot < 0) {
        capture_slots[n_slots].reg = (uint8_t)reg;
        bool late = known[reg].changed || (n_early == EARLY_MAX && reg != RSP);
        capture_slots[n_slots].insn = late ? (uint16_t)number : AT_START;
        n_early += !late;
        if (known[reg].changed)
            known[reg].moved = 0;
        known[reg].slot = (int)n_slots++;
    }
    return (uint8_t)known[reg].slot;
}

void capture_probe(unsigned number, const struct probe *probe)
{
    for (unsigned reg = 0; reg < 16 && n_slots < BLOCK_SLOTS_MAX; reg++)
        if (probe->registers >> reg & 1)
            capture_slots[n_slots++] = (struct slot_note){.insn = (uint16_t)number, .reg = (uint8_t)reg};
    for (unsigned i = 0; i < probe->words && n_slots < BLOCK_SLOTS_MAX - 32; i++)
        capture_slots[n_slots++] = (struct slot_note){.insn = (uint16_t)number, .reg = (uint8_t)(16 + i)};
    for (unsigned i = 0; i < 32 && n_slots < BLOCK_SLOTS_MAX - 32; i++)
        if (probe->polled >> i & 1)
            capture_slots[n_slots++] =
                (struct slot_note){.insn = (uint16_t)number, .reg = (uint8_t)(NOTED_WORD + i)};
}

static void note_operand(const struct decoded *d, unsigned number, const ZydisDecodedOperand *o)
{
    if (n_slots > BLOCK_SLOTS_MAX - 4)
        return;
    struct memory_op op = {.insn = (uint16_t)number, .size = (uint16_t)(o->size / 8), .count_slot = NO_SLOT};
    if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
        op.flags |= OP_READ;
    if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
        op.flags |= OP_WRITE;
    if (!op.flags)
        return;
    if (o->mem.segment == ZYDIS_REGISTER_FS)
        op.flags |= OP_FS;
    if (o->mem.segment == ZYDIS_REGISTER_GS)
        op.flags |= OP_GS;
    if (d->insn.address_width == 32)
        op.flags |= OP_ADDRESS32;
    op.disp = o->mem.disp.has_displacement ? o->mem.disp.value : 0;
    unsigned base = general(o->mem.base), index = general(o->mem.index);
    op.address = (uint16_t)((base < 16 ? 1 << base : 0) | (index < 16 ? 1 << index : 0));
    op.base = slot_for(base, number);
    op.index = slot_for(index, number);
    op.scale = o->mem.scale;
    if (o->mem.base == ZYDIS_REGISTER_RIP)
        op.disp += (int64_t)(d->addr + d->insn.length);
    if (base < 16)
        op.disp += known[base].moved;
    if (index < 16)
        op.disp += known[index].moved * op.scale;
    if (o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && base == RSP && (op.flags & OP_WRITE))
        op.disp -= op.size; /* push, call */
    if (d->insn.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) {
        op.flags |= OP_REPEAT;
        op.count_slot = slot_for(RCX, number);
    }
    memory_ops[n_ops++] = op;
}

/* Notes what the instruction's memory operands need, before it runs. */
void note_operands(const struct decoded *d, unsigned number)
{
    for (unsigned i = 0; i < d->insn.operand_count; i++) {
        const ZydisDecodedOperand *o = &d->operands[i];
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.type == ZYDIS_MEMOP_TYPE_MEM)
            note_operand(d, number, o);
    }
}

/* What it writes it may leave as it was: of a source of 0 a bit scan does (found by tests/fuzz/translate_fuzz.py). */
static bool may_not_write(const struct decoded *d)
{
    return d->insn.mnemonic == ZYDIS_MNEMONIC_BSF || d->insn.mnemonic == ZYDIS_MNEMONIC_BSR ||
           d->insn.mnemonic == ZYDIS_MNEMONIC_LAR || d->insn.mnemonic == ZYDIS_MNEMONIC_LSL;
}

/* A register whose value nobody needs at the block's start: written as a whole before it is read. 16: there
 * is none. */
unsigned dead_register(const struct decoded *decoded, const struct insn_note *notes, unsigned n)
{
    unsigned seen = 1 << RSP;
    for (unsigned i = 0; i < n; i++) {
        seen |= notes[i].reads;
        unsigned fresh = may_not_write(&decoded[i]) ? 0 : notes[i].writes & ~seen;
        for (unsigned k = 0; fresh && k < decoded[i].insn.operand_count; k++) {
            const ZydisDecodedOperand *o = &decoded[i].operands[k];
            if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->size >= 32 &&
                o->actions == ZYDIS_OPERAND_ACTION_WRITE) {
                unsigned reg = general(o->reg.value);
                if (reg < 16 && fresh >> reg & 1)
                    return reg;
            }
        }
        seen |= notes[i].writes;
    }
    return 16;
}

/* Which registers hold other values once it ran. */
struct insn_note effects(const struct decoded *d)
{
    struct insn_note note = {0};
    for (unsigned i = 0; i < d->insn.operand_count; i++) {
        const ZydisDecodedOperand *o = &d->operands[i];
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
            unsigned reg = general(o->reg.value);
            if (reg == 16)
                continue;
            if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
                note.reads |= (uint16_t)(1 << reg);
            if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
                note.writes |= (uint16_t)(1 << reg);
        } else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
            unsigned base = general(o->mem.base), index = general(o->mem.index);
            note.reads |= (uint16_t)((base < 16 ? 1 << base : 0) | (index < 16 ? 1 << index : 0));
        }
    }
    int64_t moved = 0;
    bool stack = true;
    unsigned width = d->insn.operand_width / 8U;
    if (d->insn.mnemonic == ZYDIS_MNEMONIC_PUSH)
        moved = width == 2 ? -2 : -8;
    else if (d->insn.mnemonic == ZYDIS_MNEMONIC_POP && !(d->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                                                         general(d->operands[0].reg.value) == RSP))
        moved = width == 2 ? 2 : 8;
    else if ((d->insn.mnemonic == ZYDIS_MNEMONIC_SUB || d->insn.mnemonic == ZYDIS_MNEMONIC_ADD) &&
             width == 8 && d->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
             d->operands[0].reg.value == ZYDIS_REGISTER_RSP &&
             d->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
        moved =
            d->insn.mnemonic == ZYDIS_MNEMONIC_ADD ? d->operands[1].imm.value.s : -d->operands[1].imm.value.s;
    else if (d->insn.mnemonic == ZYDIS_MNEMONIC_CALL)
        moved = -8;
    else if (d->insn.mnemonic == ZYDIS_MNEMONIC_RET)
        moved = 8 + (d->insn.raw.imm[0].size ? (int64_t)d->insn.raw.imm[0].value.u : 0);
    else
        stack = false;
    note.stack_moves = stack;
    note.stack = (int32_t)moved;
    note.repeats =
        (d->insn.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
    for (unsigned reg = 0; reg < 16; reg++)
        if (note.writes >> reg & 1) {
            if (reg == RSP && stack)
                known[RSP].moved += moved;
            else {
                known[reg].slot = -1;
                known[reg].changed = true;
            }
        }
    return note;
}
