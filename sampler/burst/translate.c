/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of the target to blocks of the code cache; shape and reasons in runner.h. What is copied is copied
 * byte for byte, but for memory operands relative to the instruction pointer: those get a register that the
 * instruction doesn't use. Links between blocks are `jmp rel32` to a `ud2` until the target is translated,
 * then to it. The cache is never partly freed: when it is full, or code changed, everything goes.
 *
 * Invariant: translated code leaves registers and flags at each copied instruction as the original would,
 * reads and writes no memory but the target's copies, `hot` and the trace. */
#include "sampler/burst/decoder.h"
#include "sampler/burst/emit.h"
#include "sampler/burst/runner.h"
#include "sampler/burst/sys.h"

#define BLOCKS_MAX 65536
#define OPS_MAX 262144
#define NOTES_MAX 524288
#define LINKS_MAX 131072
#define CACHE_BYTES (32 << 20)
#define EXPAND_MAX 512
#define BLOCK_INSNS_MAX 40
#define BLOCK_SLOTS_MAX 56
#define BLOCK_CODE_MAX 8192 /* bytes of translated code, generously */

struct block blocks[BLOCKS_MAX];
struct memory_op memory_ops[OPS_MAX];
struct insn_note insn_notes[NOTES_MAX];
static struct link {
    uint8_t *patch; /* the rel32 */
    uint64_t target;
} links[LINKS_MAX];
uint8_t code_cache[CACHE_BYTES] __attribute__((aligned(2 << 20)));
const uint64_t code_cache_bytes = CACHE_BYTES;
static uint32_t n_blocks, n_ops, n_notes, n_links;
/* Free space: blocks from below, `ud2` for links from above. The common code of indirect branches. */
static uint8_t *code_end, *stubs, *indirect;
struct hot hot;
enum cs_burst_cause translate_cause;
unsigned blocks_translated;

#define BLOCK_SLOTS (BLOCKS_MAX * 4)
static uint32_t by_pc[BLOCK_SLOTS]; /* 1 + block */
#define TARGETS 16384
static struct {
    uint64_t pc;
    uint8_t *code;
} targets[TARGETS + 1]
    __attribute__((aligned(64))); /* a target is in the place that it hashes to, or in the next */
#define TARGET_HASH 0x9e3779b1U
#define TARGET_SHIFT 18 /* 32 bits to those of TARGETS */

struct decoded {
    uint64_t addr;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    uint8_t bytes[15];
};
static struct decoded decoded[BLOCK_INSNS_MAX];

static unsigned slot_of(uint64_t pc)
{
    unsigned slot = (unsigned)(pc * 0x9e3779b97f4a7c15ULL >> 40) % BLOCK_SLOTS;
    while (by_pc[slot] && blocks[by_pc[slot] - 1].pc != pc)
        slot = (slot + 1) % BLOCK_SLOTS;
    return slot;
}

bool in_cache(uint64_t addr)
{
    return addr - (uint64_t)code_cache < CACHE_BYTES;
}

bool translations_full(void)
{
    return n_blocks > BLOCKS_MAX - 8 || n_ops > OPS_MAX - 1024 || n_notes > NOTES_MAX - 1024 ||
           n_links > LINKS_MAX - 64 || code_end > stubs - 8 * BLOCK_CODE_MAX;
}

/* hot.target holds where to go. */
static void write_indirect(void)
{
    indirect = at;
    save(&hot.save[0], RAX);
    save(&hot.save[1], RCX);
    flags_to_rax();
    save(&hot.save[2], RAX);
    load(RCX, &hot.target);
    byte(0x69); /* imul eax, ecx, imm32 */
    byte(0xc1);
    word32(TARGET_HASH);
    byte(0xc1); /* shr eax, imm8 */
    byte(0xe8);
    byte(TARGET_SHIFT);
    byte(0xc1); /* shl eax, 4 */
    byte(0xe0);
    byte(4);
    byte(0x48); /* add rax, [table] */
    byte(0x03);
    byte(0x05);
    static const void *const table = targets;
    relative(&table, 0);
    byte(0x48); /* cmp rcx, [rax] */
    byte(0x3b);
    byte(0x08);
    byte(0x74); /* je */
    uint8_t *hit = at;
    byte(0);
    with_base(0x8d, RAX, RAX, 16, 1); /* lea rax, [rax + 16] */
    byte(0x48);                       /* cmp rcx, [rax] */
    byte(0x3b);
    byte(0x08);
    byte(0x75); /* jne */
    uint8_t *miss = at;
    byte(0);
    *hit = (uint8_t)(at - hit - 1);
    byte(0x48); /* mov rcx, [rax + 8] */
    byte(0x8b);
    byte(0x48);
    byte(8);
    save(&hot.jump, RCX);
    load(RAX, &hot.save[2]);
    flags_from_rax();
    load(RAX, &hot.save[0]);
    load(RCX, &hot.save[1]);
    byte(0xff); /* jmp [hot.jump] */
    byte(0x25);
    relative(&hot.jump, 0);
    *miss = (uint8_t)(at - miss - 1);
    load(RAX, &hot.save[2]);
    flags_from_rax();
    load(RAX, &hot.save[0]);
    load(RCX, &hot.save[1]);
    mark(MARK(MARK_INDIRECT, 0));
}

void translations_flush(void)
{
    n_blocks = n_ops = n_notes = n_links = 0;
    memset(by_pc, 0, sizeof by_pc);
    memset(targets, 0, sizeof targets);
    stubs = code_cache + CACHE_BYTES;
    at = code_cache;
    write_indirect();
    code_end = at;
}

/* ---- what an instruction is ---- */

static unsigned general(ZydisRegister reg)
{
    if (reg == ZYDIS_REGISTER_NONE)
        return 16;
    ZydisRegister whole = decoder.enclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15 ? (unsigned)(whole - ZYDIS_REGISTER_RAX)
                                                                      : 16;
}

/* Instructions that end a burst: what they do depends on more than registers and memory, or changes more. */
static enum cs_burst_cause stops(const struct decoded *d)
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

static int end_of(const struct decoded *d)
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

/* ---- memory operands ---- */

/* What is known of each register at the instruction under plan. */
static struct {
    int slot;      /* that holds its value less `moved`; -1: none */
    int64_t moved; /* since the slot's value, or since the block's start */
    bool changed;  /* since the block's start, otherwise than by `moved` */
} known[16];
/* Notes of registers: at the block's start (insn = AT_START), or before an instruction. */
#define AT_START 0xffff
static struct {
    uint16_t insn;
    uint8_t reg;
} slot_plan[BLOCK_SLOTS_MAX];
#define EARLY_MAX 12 /* the entry needs a register for itself */
static unsigned n_slots, n_early;

static uint8_t slot_for(unsigned reg, unsigned number)
{
    if (reg == 16)
        return NO_SLOT;
    if (known[reg].slot < 0) {
        slot_plan[n_slots].reg = (uint8_t)reg;
        bool late = known[reg].changed || (n_early == EARLY_MAX && reg != RSP);
        slot_plan[n_slots].insn = late ? (uint16_t)number : AT_START;
        n_early += !late;
        if (known[reg].changed)
            known[reg].moved = 0;
        known[reg].slot = (int)n_slots++;
    }
    return (uint8_t)known[reg].slot;
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
static void note_operands(const struct decoded *d, unsigned number)
{
    for (unsigned i = 0; i < d->insn.operand_count; i++) {
        const ZydisDecodedOperand *o = &d->operands[i];
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.type == ZYDIS_MEMOP_TYPE_MEM)
            note_operand(d, number, o);
    }
}

/* A register whose value nobody needs at the block's start: written as a whole before it is read. 16: there
 * is none. */
static unsigned dead_register(const struct insn_note *notes, unsigned n)
{
    unsigned seen = 1 << RSP;
    for (unsigned i = 0; i < n; i++) {
        seen |= notes[i].reads;
        unsigned fresh = notes[i].writes & ~seen;
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
static struct insn_note effects(const struct decoded *d)
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
    else
        stack = false;
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

/* ---- writing instructions ---- */

static void copy_insn(const struct decoded *d)
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
        memcpy(at, d->bytes, insn->length);
        at += insn->length;
        return;
    }
    unsigned scratch = 0;
    while (used >> scratch & 1)
        scratch++; /* no instruction uses all of the first eight */
    uint64_t addr = d->addr + insn->length + (uint64_t)insn->raw.disp.value;
    save(&hot.save[3], scratch);
    move_imm64(scratch, addr);
    uint8_t *start = at;
    memcpy(at, d->bytes, insn->length);
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

static void write_link(uint8_t *rel32, uint64_t target)
{
    uint8_t *here = at;
    links[n_links].patch = rel32;
    links[n_links].target = target;
    at = stubs -= 6;
    *(int32_t *)rel32 = (int32_t)(at - (rel32 + 4));
    mark(MARK(MARK_MISS, n_links));
    n_links++;
    at = here;
}

/* A `jmp rel32` whose target comes later. */
static uint8_t *write_jump(void)
{
    byte(0xe9);
    word32(0);
    return at - 4;
}

static void write_push_return(uint64_t addr)
{
    byte(0x68); /* push imm32, sign-extended */
    word32((uint32_t)addr);
    byte(0xc7); /* mov dword [rsp + 4], imm32 */
    byte(0x44);
    byte(0x24);
    byte(4);
    word32((uint32_t)(addr >> 32));
}

/* hot.target = operand of an indirect jump or call. */
static void write_target(const struct decoded *d)
{
    const ZydisDecodedOperand *o = &d->operands[0];
    save(&hot.save[0], RAX);
    if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        unsigned reg = general(o->reg.value);
        rex_w(reg, RAX); /* mov rax, reg */
        byte(0x89);
        byte(0xc0 | (reg & 7) << 3);
    } else if (o->mem.base == ZYDIS_REGISTER_RIP) {
        byte(0x48); /* mov rax, [imm64] */
        byte(0xa1);
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

static void write_end(struct block *block, const struct decoded *d)
{
    uint64_t next = d->addr + d->insn.length;
    uint64_t taken = next + (uint64_t)d->operands[0].imm.value.s;
    uint8_t *taken_at, *next_at;
    block->taken = taken;
    switch (block->end) {
    case END_COND:
        if (d->insn.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
            d->insn.opcode >= 0xe0) { /* loop, jrcxz: short only */
            if (d->insn.address_width == 32)
                byte(0x67);
            byte(d->insn.opcode);
            byte(5);
            next_at = write_jump();
            taken_at = write_jump();
        } else {
            byte(0x0f);
            byte(0x80 | (d->insn.opcode & 15));
            word32(0);
            taken_at = at - 4;
            next_at = write_jump();
        }
        write_link(taken_at, taken);
        write_link(next_at, next);
        break;
    case END_CALL:
        write_push_return(next);
        /* fall through */
    case END_JUMP:
        write_link(write_jump(), taken);
        break;
    case END_ICALL:
        write_target(d);
        write_push_return(next);
        jump_to(indirect);
        break;
    case END_IJUMP:
        write_target(d);
        jump_to(indirect);
        break;
    case END_RET:
        byte(0x8f); /* pop [hot.target] */
        byte(0x05);
        relative(&hot.target, 0);
        if (d->insn.raw.imm[0].size)
            lea(RSP, RSP, 16, 1, (int32_t)d->insn.raw.imm[0].value.u, 0);
        jump_to(indirect);
        break;
    default: /* END_FALL: the block grew too long */
        copy_insn(d);
        write_link(write_jump(), next);
    }
}

static void write_slot(unsigned base, unsigned slot, int32_t from)
{
    with_base(0x89, slot_plan[slot].reg, base, 8 * (int32_t)slot + from, 1);
}

/* The record: number, slots that are known now, cursor behind it. */
static void write_entry(const struct block *block, unsigned dead)
{
    unsigned needed = 1 << RSP, base = dead;
    int32_t bytes = 4 + 8 * (int32_t)n_slots;
    for (unsigned i = 0; i < n_slots; i++)
        if (slot_plan[i].insn == AT_START)
            needed |= 1U << slot_plan[i].reg;
    if (dead == 16 || needed >> dead & 1)
        for (base = 0, dead = 16; needed >> base & 1;)
            base++;
    if (dead == 16)
        save(&hot.save[0], base);
    load(base, &hot.cursor);
    if (base > 7)
        byte(0x41);
    byte(0xc7); /* mov dword [base], number */
    byte((base & 7) == RBP ? 0x45 : (base & 7) == RSP ? 0x04 : base & 7);
    if ((base & 7) == RBP)
        byte(0);
    if ((base & 7) == RSP)
        byte(0x24);
    word32((uint32_t)(block - blocks));
    for (unsigned i = 0; i < n_slots; i++)
        if (slot_plan[i].insn == AT_START)
            write_slot(base, i, 4);
    with_base(0x8d, base, base, bytes, 1); /* lea */
    save(&hot.cursor, base);
    if (dead == 16)
        load(base, &hot.save[0]);
}

/* Slots of registers that had changed, before the instruction that needs them. */
static void write_late_slots(unsigned number)
{
    for (unsigned i = 0; i < n_slots; i++) {
        if (slot_plan[i].insn != number)
            continue;
        unsigned base = slot_plan[i].reg == RAX ? RCX : RAX;
        save(&hot.save[0], base);
        load(base, &hot.cursor);
        write_slot(base, i, -8 * (int32_t)n_slots);
        load(base, &hot.save[0]);
    }
}

static bool decode_one(struct decoded *d, uint64_t addr)
{
    d->addr = addr;
    unsigned n = code_bytes(addr, d->bytes);
    return n && ZYAN_SUCCESS(decoder.decode(&decoder.state, d->bytes, n, &d->insn, d->operands));
}

struct block *translate(uint64_t pc)
{
    unsigned slot = slot_of(pc);
    if (by_pc[slot])
        return &blocks[by_pc[slot] - 1];
    struct block *block = &blocks[n_blocks];
    *block = (struct block){.pc = pc, .end = END_FALL, .first_op = n_ops, .first_note = n_notes};
    unsigned n = 0;
    uint64_t addr = pc;
    for (; n < BLOCK_INSNS_MAX; n++) {
        struct decoded *d = &decoded[n];
        block->cause = CS_BURST_UNDECODED;
        if (!decode_one(d, addr)) {
            block->end = END_STOP;
            if (!n && !code_bytes(addr, d->bytes)) {
                translate_cause = CS_BURST_FAULT;
                return NULL;
            }
            break;
        }
        block->cause = (uint8_t)stops(d);
        if (block->cause != CS_BURST_FULL) {
            block->end = END_STOP;
            break;
        }
        addr += d->insn.length;
        block->end = (uint8_t)end_of(d);
        if (block->end != END_FALL) {
            if (d->insn.operand_width == 16) {
                block->end = END_STOP;
                block->cause = CS_BURST_UNSUPPORTED;
                addr -= d->insn.length;
                break;
            }
            n++;
            break;
        }
    }
    block->n_insns = (uint16_t)n;
    block->bytes = (uint16_t)(addr - pc);
    if (n) {
        block->branch = decoded[n - 1].addr;
        block->last_length = decoded[n - 1].insn.length;
    }
    at = block->code = (uint8_t *)(((uint64_t)code_end + 15) & ~15ULL);
    n_slots = n_early = 0;
    memset(known, 0, sizeof known);
    for (unsigned reg = 0; reg < 16; reg++)
        known[reg].slot = -1;
    for (unsigned i = 0; i < n; i++) {
        note_operands(&decoded[i], i);
        insn_notes[n_notes] = effects(&decoded[i]);
        insn_notes[n_notes++].offset = (uint16_t)(decoded[i].addr - pc);
    }
    write_entry(block, dead_register(&insn_notes[block->first_note], n));
    for (unsigned i = 0; i < n; i++) {
        write_late_slots(i);
        if (i + 1 < n || block->end == END_STOP)
            copy_insn(&decoded[i]);
        else
            write_end(block, &decoded[i]);
    }
    if (block->end == END_STOP)
        mark(MARK(MARK_STOP, (uint32_t)(block - blocks)));
    block->n_slots = (uint16_t)n_slots;
    block->n_ops = (uint16_t)(n_ops - block->first_op);
    code_end = at;
    by_pc[slot] = ++n_blocks;
    blocks_translated++;
    return block;
}

void translation_link(uint32_t link, struct block *to)
{
    *(int32_t *)links[link].patch = (int32_t)(to->code - (links[link].patch + 4));
}

uint64_t translation_link_target(uint32_t link)
{
    return links[link].target;
}

void translation_remember_indirect(struct block *block)
{
    unsigned i = (uint32_t)block->pc * TARGET_HASH >> TARGET_SHIFT;
    if (targets[i].pc) /* the newcomer takes the second place: the first stays with who came first */
        i++;
    targets[i].pc = block->pc;
    targets[i].code = block->code;
}

static void expand(const struct block *block)
{
    bool falls = block->end == END_COND || block->end == END_CALL || block->end == END_ICALL;
    bool jumps = block->end == END_COND || block->end == END_CALL || block->end == END_JUMP;
    if (falls && !translations_full())
        translate(block->pc + block->bytes);
    if (jumps && !translations_full())
        translate(block->taken);
}

/* Both ways out of each executed block, and out of those, `levels` deep: misses then happen while nobody
 * waits. */
void translations_expand(const uint32_t *executed, unsigned n, unsigned levels)
{
    uint32_t first = n_blocks, done = n_blocks;
    for (unsigned i = 0; i < n; i++)
        expand(&blocks[executed[i]]);
    while (--levels && n_blocks - first < EXPAND_MAX)
        for (uint32_t end = n_blocks; done < end; done++)
            expand(&blocks[done]);
}
