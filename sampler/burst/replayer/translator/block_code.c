/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a block's translation: the record at its start, its instructions, what is noted between them,
 * and where an indirect branch goes. What is copied is copied byte for byte, but for memory operands relative
 * to the instruction pointer. Those get a register that the instruction doesn't use. */
#include "sampler/burst/replayer/translator/block_code.h"
#include "sampler/burst/replayer/translator/emit.h"
#include "sampler/burst/runner/libc.h"

uint8_t *at;
struct hot hot;

void copy_insn(const struct decoded *d)
{
    const ZydisDecodedInstruction *insn = &d->insn;
    bool relative_operand = false;
    unsigned used = 1 << RSP;
    for (unsigned i = 0; i < insn->operand_count; i++) {
        const ZydisDecodedOperand *o = &d->operands[i];
        unsigned reg = o->type == ZYDIS_OPERAND_TYPE_REGISTER ? general(o->reg.value) : 16;
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_RIP)
            relative_operand = true;
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && general(o->mem.base) < 16)
            used |= 1U << general(o->mem.base); /* push [rip + x] uses rsp, too */
        if (reg < 16)
            used |= 1U << reg;
    }
    if (!relative_operand) {
        memcpy(writable(at), d->bytes, insn->length);
        at += insn->length;
        return;
    }
    unsigned scratch = 0;
    while (used >> scratch & 1)
        scratch++; /* no instruction uses all of the first eight */
    uint64_t addr = d->addr + insn->length + (uint64_t)insn->raw.disp.value;
    save(&hot.save[3], scratch);
    move_imm64(scratch, addr);
    uint8_t *start = writable(at);
    memcpy(start, d->bytes, insn->length);
    at += insn->length;
    uint8_t *modrm = start + insn->raw.modrm.offset;
    *modrm = (uint8_t)(0x80 | (*modrm & 0x38) | scratch); /* [scratch + disp32] */
    memset(start + insn->raw.disp.offset, 0, 4);
    /* The extension bit of the base register must say "one of the first eight". */
    switch (insn->encoding) {
    case ZYDIS_INSTRUCTION_ENCODING_VEX:
        if (insn->raw.vex.size == 3)
            start[insn->raw.vex.offset + 1] |= 0x20;
        break;
    case ZYDIS_INSTRUCTION_ENCODING_XOP:
        start[insn->raw.xop.offset + 1] |= 0x20;
        break;
    case ZYDIS_INSTRUCTION_ENCODING_EVEX:
        start[insn->raw.evex.offset + 1] |= 0x60;
        break;
    default:
        if (insn->attributes & ZYDIS_ATTRIB_HAS_REX)
            start[insn->raw.rex.offset] &= 0xfe;
    }
    load(scratch, &hot.save[3]);
}

void write_push_return(uint64_t addr)
{
    byte(0x68); /* push imm32, sign-extended */
    word32((uint32_t)addr);
    put(0xc7, 0x44, 0x24, 4); /* mov dword [rsp + 4], imm32 */
    word32((uint32_t)(addr >> 32));
}

/* hot.target = operand of an indirect jump or call. */
void write_target(const struct decoded *d)
{
    const ZydisDecodedOperand *o = &d->operands[0];
    save(&hot.save[0], RAX);
    if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        unsigned reg = general(o->reg.value);
        rex_w(reg, RAX); /* mov rax, reg */
        put(0x89, 0xc0 | (reg & 7) << 3);
    } else if (o->mem.base == ZYDIS_REGISTER_RIP) {
        put(0x48, 0xa1); /* mov rax, [imm64] */
        word64(d->addr + d->insn.length + (uint64_t)d->insn.raw.disp.value);
    } else {
        if (o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS)
            byte(o->mem.segment == ZYDIS_REGISTER_FS ? 0x64 : 0x65);
        with_memory(0x8b, RAX, general(o->mem.base), general(o->mem.index), o->mem.scale,
                    o->mem.disp.has_displacement ? (int32_t)o->mem.disp.value : 0,
                    d->insn.address_width == 32);
    }
    save(&hot.target, RAX);
    load(RAX, &hot.save[0]);
}

static void write_slot(unsigned base, unsigned slot, int32_t from)
{
    with_base(0x89, capture_slots[slot].reg, base, 8 * (int32_t)slot + from, 1);
}

/* The record: number, slots that are known now, cursor behind it. */
void write_entry(uint32_t block, unsigned dead)
{
    unsigned needed = 1 << RSP, base = dead;
    int32_t bytes = 4 + 8 * (int32_t)n_slots;
    for (unsigned i = 0; i < n_slots; i++)
        if (capture_slots[i].insn == AT_START)
            needed |= 1U << capture_slots[i].reg;
    if (dead == 16 || needed >> dead & 1)
        for (base = 0, dead = 16; needed >> base & 1;)
            base++;
    if (dead == 16)
        save(&hot.save[0], base);
    load(base, &hot.cursor);
    if (base > 7)
        byte(0x41);
    put(0xc7, (base & 7) == RBP ? 0x45 : (base & 7) == RSP ? 0x04 : base & 7); /* mov dword [base], number */
    if ((base & 7) == RBP)
        byte(0);
    if ((base & 7) == RSP)
        byte(0x24);
    word32(block);
    for (unsigned i = 0; i < n_slots; i++)
        if (capture_slots[i].insn == AT_START)
            write_slot(base, i, 4);
    with_base(0x8d, base, base, bytes, 1); /* lea */
    save(&hot.cursor, base);
    if (dead == 16)
        load(base, &hot.save[0]);
}

/* Slots of words in memory, before the instruction that asks for them. */
void write_word_slots(unsigned number, const uint64_t *word_addrs)
{
    bool any = false;
    for (unsigned i = 0; i < n_slots; i++) {
        if (capture_slots[i].insn != number || capture_slots[i].reg < 16)
            continue;
        if (!any) {
            save(&hot.save[0], RAX);
            save(&hot.save[1], RCX);
            load(RAX, &hot.cursor);
            any = true;
        }
        if (capture_slots[i].reg >= NOTED_WORD) {
            move_imm64(RCX, word_addrs[capture_slots[i].reg - NOTED_WORD]);
            with_base(0x8b, RCX, RCX, 0, 1);
        } else {
            with_memory(0x8b, RCX, RSP, 16, 1, 8 * (capture_slots[i].reg - 16), 0);
        }
        with_base(0x89, RCX, RAX, 8 * (int32_t)i - 8 * (int32_t)n_slots, 1);
    }
    if (any) {
        load(RAX, &hot.save[0]);
        load(RCX, &hot.save[1]);
    }
}

/* Slots of registers that had changed, before the instruction that needs them. */
void write_late_slots(unsigned number)
{
    for (unsigned i = 0; i < n_slots; i++) {
        if (capture_slots[i].insn != number || capture_slots[i].reg >= 16)
            continue;
        unsigned base = capture_slots[i].reg == RAX ? RCX : RAX;
        save(&hot.save[0], base);
        load(base, &hot.cursor);
        write_slot(base, i, -8 * (int32_t)n_slots);
        load(base, &hot.save[0]);
    }
}
