/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of instructions with a counter in front. Nothing that we add changes a flag that the program may still read. The
 * short form of the counter changes all flags. It stands only where the block overwrites all before it reads one. */
#include "sampler/count/block.h"

#ifdef __x86_64__
#include <Zydis/Zydis.h>
#include <string.h>

#define STATUS                                                                                               \
    (ZyanU32)(ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF | \
              ZYDIS_CPUFLAG_OF)
/* Constants that may be addresses of a program that isn't position-independent. */
#define ADDRESS_MIN 0x400000
#define ADDRESS_MAX 0x8000000
enum { RAX, RCX, RDX, RSP = 4 };

struct decoded {
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
    const uint8_t *bytes;
    uint64_t pc;
};

struct emitter {
    struct cs_count_translation *out;
    uint64_t at; /* of the first byte of out->code */
    bool bad;    /* an address is too far */
};

static void byte(struct emitter *e, unsigned value)
{
    e->out->code[e->out->n_code++] = (uint8_t)value;
}

static void word32(struct emitter *e, uint32_t value)
{
    memcpy(e->out->code + e->out->n_code, &value, sizeof value);
    e->out->n_code += 4;
}

/* Distance from the end of the instruction, `more` bytes behind it. */
static void relative(struct emitter *e, uint64_t place, unsigned more)
{
    const int64_t distance = (int64_t)(place - (e->at + e->out->n_code + 4 + more));
    e->bad |= distance != (int32_t)distance;
    word32(e, (uint32_t)distance);
}

/* mov gs:[slot], reg (0x89) or mov reg, gs:[slot] (0x8b) */
static void slot(struct emitter *e, unsigned opcode, unsigned reg, unsigned at)
{
    byte(e, 0x65);
    byte(e, 0x48);
    byte(e, opcode);
    byte(e, 0x04 | reg << 3);
    byte(e, 0x25);
    word32(e, at);
}

static bool changes_always(const struct decoded *d)
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

static bool reads_flags(const struct decoded *d)
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

static bool flags_are_dead(const struct decoded *d, unsigned n)
{
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

static void write_counter(struct emitter *e, uint32_t counter, bool flags_dead)
{
    const unsigned at = CS_COUNT_COUNTERS + 8 * counter;
    if (flags_dead) {
        static const uint8_t add[] = {0x65, 0x48, 0x83, 0x04, 0x25};
        for (unsigned i = 0; i < sizeof add; i++)
            byte(e, add[i]);
        word32(e, at);
        byte(e, 1);
        return;
    }
    slot(e, 0x89, RAX, CS_COUNT_RAX);
    slot(e, 0x8b, RAX, at);
    byte(e, 0x48); /* lea rax, [rax + 1] */
    byte(e, 0x8d);
    byte(e, 0x40);
    byte(e, 1);
    slot(e, 0x89, RAX, at);
    slot(e, 0x8b, RAX, CS_COUNT_RAX);
}

/* Why it can't be translated; NULL: it can. */
static const char *refusal(const struct decoded *d)
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

static bool is_relative_branch(const struct decoded *d)
{
    return d->operand[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && d->operand[0].imm.is_relative;
}

/* How it ends a block; CS_COUNT_NEXT: it doesn't. */
static enum cs_count_end end_of(const struct decoded *d)
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
static bool stops(const struct decoded *d)
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

static bool is_relative_memory(const struct decoded *d)
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
static uint16_t mix_of(const struct decoded *d)
{
    const ZydisDecodedInstruction *z = &d->insn;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (unsigned i = 0; i < z->length; i++) {
        bool address = z->raw.disp.size == 32 && i >= z->raw.disp.offset && i < z->raw.disp.offset + 4U &&
                       (is_relative_memory(d) || may_be_address(z->raw.disp.value));
        for (unsigned k = 0; k < 2; k++)
            address |= z->raw.imm[k].size && i >= z->raw.imm[k].offset &&
                       i < z->raw.imm[k].offset + z->raw.imm[k].size / 8U &&
                       (z->raw.imm[k].is_relative || may_be_address(z->raw.imm[k].value.s));
        hash = (hash ^ (address ? 0U : d->bytes[i])) * UINT64_C(0x100000001b3);
    }
    return (uint16_t)(hash ^ hash >> 16 ^ hash >> 32 ^ hash >> 48);
}

static void copy(struct emitter *e, const struct decoded *d)
{
    const unsigned from = e->out->n_code;
    memcpy(e->out->code + from, d->bytes, d->insn.length);
    e->out->n_code += d->insn.length;
    if (!is_relative_memory(d))
        return;
    const uint64_t place = d->pc + d->insn.length + (uint64_t)d->insn.raw.disp.value;
    const int64_t distance = (int64_t)(place - (e->at + e->out->n_code));
    const int32_t near = (int32_t)distance;
    e->bad |= distance != near;
    memcpy(e->out->code + from + d->insn.raw.disp.offset, &near, sizeof near);
}

/* jmp (0) or a jump under a condition (its second byte), to be linked. */
static void leave(struct emitter *e, unsigned condition, uint64_t target)
{
    const unsigned opcode = condition ? 2 : 1;
    while ((e->out->n_code + opcode) % 4)
        byte(e, 0x90);
    if (condition)
        byte(e, 0x0f);
    byte(e, condition ? condition : 0xe9);
    e->out->exit[e->out->n_exits++] = (struct cs_count_exit){.target = target, .link = e->out->n_code};
    word32(e, 0);
}

/* Where the exits trap first. */
static void write_traps(struct emitter *e)
{
    for (unsigned i = 0; i < e->out->n_exits; i++) {
        struct cs_count_exit *x = &e->out->exit[i];
        x->trap = e->out->n_code;
        byte(e, 0xcc);
        byte(e, 0x90);
        while ((e->out->n_code + 6) % 8)
            byte(e, 0x90);
        x->far = e->out->n_code;
        byte(e, 0xff); /* jmp [rip + 0] */
        byte(e, 0x25);
        word32(e, 0);
        word32(e, 0);
        word32(e, 0);
        const uint32_t distance = x->trap - (x->link + 4);
        memcpy(e->out->code + x->link, &distance, sizeof distance);
    }
}

static void push_return(struct emitter *e, uint64_t pc)
{
    byte(e, 0x68); /* push imm32, sign-extended */
    word32(e, (uint32_t)pc);
    byte(e, 0xc7); /* mov dword [rsp + 4], imm32 */
    byte(e, 0x44);
    byte(e, 0x24);
    byte(e, 4);
    word32(e, (uint32_t)(pc >> 32));
}

static unsigned number_of(ZydisRegister reg)
{
    return (unsigned)(ZydisRegisterGetId(reg) & 15);
}

/* mov rax, operand */
static void load_target(struct emitter *e, const struct decoded *d)
{
    const ZydisDecodedOperand *o = &d->operand[0];
    if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        const unsigned reg = number_of(o->reg.value);
        byte(e, 0x48 | reg >> 3 << 2);
        byte(e, 0x89);
        byte(e, 0xc0 | (reg & 7) << 3);
        return;
    }
    if (o->mem.base == ZYDIS_REGISTER_RIP) {
        byte(e, 0x48);
        byte(e, 0x8b);
        byte(e, 0x05);
        relative(e, d->pc + d->insn.length + (uint64_t)d->insn.raw.disp.value, 0);
        return;
    }
    const bool base = o->mem.base != ZYDIS_REGISTER_NONE, index = o->mem.index != ZYDIS_REGISTER_NONE;
    const unsigned b = base ? number_of(o->mem.base) : 5, x = index ? number_of(o->mem.index) : 4;
    const unsigned scale = o->mem.scale == 8 ? 3 : o->mem.scale == 4 ? 2 : o->mem.scale == 2 ? 1 : 0;
    if (o->mem.segment == ZYDIS_REGISTER_FS)
        byte(e, 0x64);
    if (d->insn.address_width == 32)
        byte(e, 0x67);
    byte(e, 0x48 | (index ? x >> 3 << 1 : 0) | (base ? b >> 3 : 0));
    byte(e, 0x8b);
    byte(e, base ? 0x84 : 0x04); /* with disp32 */
    byte(e, scale << 6 | (index ? x & 7 : 4) << 3 | (base ? b & 7 : 5));
    word32(e, (uint32_t)(o->mem.disp.has_displacement ? o->mem.disp.value : 0));
}

static void look_up(struct emitter *e, uint64_t lookup)
{
    byte(e, 0xe9);
    relative(e, lookup, 0);
}

static void save_three(struct emitter *e)
{
    slot(e, 0x89, RAX, CS_COUNT_RAX);
    slot(e, 0x89, RCX, CS_COUNT_RCX);
    slot(e, 0x89, RDX, CS_COUNT_RDX);
}

static void write_end(struct emitter *e, const struct decoded *d, uint64_t lookup)
{
    const uint64_t next = d->pc + d->insn.length,
                   target = is_relative_branch(d) ? next + (uint64_t)d->operand[0].imm.value.s : 0;
    switch (end_of(d)) {
    case CS_COUNT_BRANCH:
        if (d->insn.mnemonic == ZYDIS_MNEMONIC_JRCXZ || d->insn.mnemonic == ZYDIS_MNEMONIC_JECXZ ||
            d->insn.mnemonic == ZYDIS_MNEMONIC_LOOP || d->insn.mnemonic == ZYDIS_MNEMONIC_LOOPE ||
            d->insn.mnemonic == ZYDIS_MNEMONIC_LOOPNE) {
            /* These reach 127 bytes only: over a jump, to another. */
            memcpy(e->out->code + e->out->n_code, d->bytes, d->insn.length);
            e->out->n_code += d->insn.length;
            const unsigned distance = e->out->n_code - 1;
            leave(e, 0, next);
            e->out->code[distance] = (uint8_t)(e->out->n_code - distance - 1);
            leave(e, 0, target);
            break;
        }
        leave(e, d->insn.opcode_map == ZYDIS_OPCODE_MAP_0F ? d->insn.opcode : d->insn.opcode + 0x10U, target);
        leave(e, 0, next);
        break;
    case CS_COUNT_JUMP:
    case CS_COUNT_CALL:
        if (is_relative_branch(d)) {
            if (end_of(d) == CS_COUNT_CALL)
                push_return(e, next);
            leave(e, 0, target);
            break;
        }
        save_three(e);
        load_target(e, d);
        if (end_of(d) == CS_COUNT_CALL)
            push_return(e, next);
        look_up(e, lookup);
        break;
    case CS_COUNT_RETURN: {
        const unsigned more = d->operand[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
                                      d->operand[0].visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT
                                  ? (unsigned)d->operand[0].imm.value.u & 0xffff
                                  : 0;
        save_three(e);
        static const uint8_t load[] = {0x48, 0x8b, 0x04, 0x24, 0x48, 0x8d, 0xa4, 0x24};
        for (unsigned i = 0; i < sizeof load; i++) /* mov rax, [rsp]; lea rsp, [rsp + disp32] */
            byte(e, load[i]);
        word32(e, 8 + more);
        look_up(e, lookup);
        break;
    }
    case CS_COUNT_NEXT:
        leave(e, 0, next);
        break;
    }
}

void cs_count_translate(const uint8_t *bytes, size_t n, uint64_t pc, uint64_t at, uint32_t counter,
                        uint64_t lookup, struct cs_count_translation *out)
{
    static struct decoded d[CS_COUNT_INSTRUCTIONS_MAX];
    struct emitter e = {.out = out, .at = at};
    ZydisDecoder decoder;
    unsigned count = 0;
    size_t from = 0;
    out->n_code = out->n_exits = out->n_insns = 0;
    out->end = CS_COUNT_NEXT;
    out->refused = NULL;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    while (count < CS_COUNT_INSTRUCTIONS_MAX) {
        struct decoded *one = &d[count];
        const char *refused = NULL;
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes + from, n - from, &one->insn, one->operand)))
            refused = "an instruction isn't known, or its memory can't be read";
        one->bytes = bytes + from;
        one->pc = pc + from;
        if (!refused)
            refused = refusal(one);
        if (refused && count == 0) {
            out->refused = refused;
            return;
        }
        if (refused)
            break;
        from += one->insn.length;
        count++;
        if (end_of(one) != CS_COUNT_NEXT || stops(one))
            break;
    }
    write_counter(&e, counter, flags_are_dead(d, count));
    const bool ends = end_of(&d[count - 1]) != CS_COUNT_NEXT;
    for (unsigned i = 0; i < count; i++) {
        out->insn[i] = (struct cs_count_insn){d[i].insn.length, mix_of(&d[i])};
        if (i + 1 < count || !ends)
            copy(&e, &d[i]);
    }
    out->n_insns = count;
    out->end = end_of(&d[count - 1]);
    if (ends)
        write_end(&e, &d[count - 1], lookup);
    else
        leave(&e, 0, pc + from);
    write_traps(&e);
    if (e.bad)
        out->refused = "it reaches farther than 2 GB";
}

unsigned cs_count_lookup(uint8_t code[256], unsigned *trap, unsigned *syscall)
{
    static struct cs_count_translation whole;
    struct emitter e = {.out = &whole};
    static const uint8_t find[] = {
        0x89, 0xc1,                                  /* mov ecx, eax */
        0x0f, 0xc9,                                  /* bswap ecx */
        0x0f, 0xb6, 0xcd,                            /* movzx ecx, ch: bits 16 to 23 */
        0x65, 0x48, 0x8b, 0x14, 0xcd, 0x40, 0, 0, 0, /* mov rdx, gs:[rcx * 8 + CS_COUNT_TABLES] */
        0x0f, 0xb7, 0xc8,                            /* movzx ecx, ax */
        0x48, 0x8d, 0x0c, 0x09,                      /* lea rcx, [rcx + rcx] */
        0x48, 0x8d, 0x14, 0xca,                      /* lea rdx, [rdx + rcx * 8] */
        /* loop: */
        0x48, 0x8b, 0x0a,       /* mov rcx, [rdx]: minus the address, or 0 */
        0xe3, 0x0c,             /* jrcxz miss */
        0x48, 0x8d, 0x0c, 0x01, /* lea rcx, [rcx + rax] */
        0xe3, 0x3a,             /* jrcxz hit */
        0x48, 0x8d, 0x52, 0x10, /* lea rdx, [rdx + 16] */
        0xeb, 0xef,             /* jmp loop */
    };
    whole.n_code = 0;
    for (unsigned i = 0; i < sizeof find; i++)
        byte(&e, find[i]);
    const unsigned loop = sizeof find - 17, miss = whole.n_code;
    slot(&e, 0x89, RAX, CS_COUNT_TARGET);
    slot(&e, 0x8b, RAX, CS_COUNT_RAX);
    slot(&e, 0x8b, RCX, CS_COUNT_RCX);
    slot(&e, 0x8b, RDX, CS_COUNT_RDX);
    *trap = whole.n_code;
    byte(&e, 0xcc);
    byte(&e, 0x90);
    *syscall = whole.n_code;
    byte(&e, 0x0f);
    byte(&e, 0x05);
    byte(&e, 0xcc);
    byte(&e, 0x90);
    const unsigned hit = whole.n_code;
    byte(&e, 0x48); /* mov rcx, [rdx + 8] */
    byte(&e, 0x8b);
    byte(&e, 0x4a);
    byte(&e, 8);
    slot(&e, 0x89, RCX, CS_COUNT_CODE);
    slot(&e, 0x8b, RAX, CS_COUNT_RAX);
    slot(&e, 0x8b, RCX, CS_COUNT_RCX);
    slot(&e, 0x8b, RDX, CS_COUNT_RDX);
    static const uint8_t jump[] = {0x65, 0xff, 0x24, 0x25, CS_COUNT_CODE, 0, 0, 0};
    for (unsigned i = 0; i < sizeof jump; i++)
        byte(&e, jump[i]);
    whole.code[loop + 4] = (uint8_t)(miss - (loop + 5));
    whole.code[loop + 10] = (uint8_t)(hit - (loop + 11));
    whole.code[miss - 1] = (uint8_t)(loop - miss);
    memcpy(code, whole.code, whole.n_code);
    return whole.n_code;
}
#endif
