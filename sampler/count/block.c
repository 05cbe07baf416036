/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of instructions with a counter in front. Nothing that we add changes a flag that the program may still read. The
 * short form of the counter changes all flags. It stands only where the block overwrites all before it reads one. */
#include "sampler/count/block.h"

#ifdef __x86_64__
#include <string.h>

enum { RAX, RCX, RDX, RSP = 4 };

struct emitter {
    struct cs_count_translation *out;
    uint64_t at; /* of the first byte of out->code */
    bool bad;    /* an address is too far */
};

static void byte(struct emitter *e, unsigned value)
{
    e->out->code[e->out->n_code++] = (uint8_t)value;
}

static void put_bytes(struct emitter *e, const unsigned *values, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        byte(e, values[i]);
}
/* An instruction, or its beginning. */
#define put(e, ...)                                                                                          \
    put_bytes(e, (const unsigned[]){__VA_ARGS__}, sizeof(const unsigned[]){__VA_ARGS__} / sizeof(unsigned))

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
    put(e, 0x65, 0x48, opcode, 0x04 | reg << 3, 0x25);
    word32(e, at);
}

static void write_counter(struct emitter *e, uint32_t counter, bool flags_dead)
{
    const unsigned at = CS_COUNT_COUNTERS + 8 * counter;
    if (flags_dead) {
        put(e, 0x65, 0x48, 0x83, 0x04, 0x25); /* add qword gs:[at], 1 */
        word32(e, at);
        byte(e, 1);
        return;
    }
    slot(e, 0x89, RAX, CS_COUNT_RAX);
    slot(e, 0x8b, RAX, at);
    put(e, 0x48, 0x8d, 0x40, 1); /* lea rax, [rax + 1] */
    slot(e, 0x89, RAX, at);
    slot(e, 0x8b, RAX, CS_COUNT_RAX);
}

unsigned cs_count_back_to_load(const uint8_t code[2 * CS_COUNT_AROUND])
{
    static const uint8_t load[] = {0x65, 0x48, 0x8b, 0x04, 0x25},
                         next[] = {0x48, 0x8d, 0x40, 0x01, 0x65, 0x48, 0x89, 0x04, 0x25};
    for (unsigned back = 9; back <= CS_COUNT_AROUND; back += 4) {
        const uint8_t *at = code + CS_COUNT_AROUND - back;
        if (memcmp(at, load, sizeof load) == 0 && memcmp(at + 9, next, sizeof next) == 0)
            return back;
    }
    return 0;
}

static void copy(struct emitter *e, const struct cs_count_decoded *d)
{
    const unsigned from = e->out->n_code;
    memcpy(e->out->code + from, d->bytes, d->insn.length);
    e->out->n_code += d->insn.length;
    if (!cs_count_is_relative_memory(d))
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
        put(e, 0xcc, 0x90);
        while ((e->out->n_code + 6) % 8)
            byte(e, 0x90);
        x->far = e->out->n_code;
        put(e, 0xff, 0x25); /* jmp [rip + 0] */
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
    put(e, 0xc7, 0x44, 0x24, 4); /* mov dword [rsp + 4], imm32 */
    word32(e, (uint32_t)(pc >> 32));
}

static unsigned number_of(ZydisRegister reg)
{
    return (unsigned)(ZydisRegisterGetId(reg) & 15);
}

/* mov rax, operand */
static void load_target(struct emitter *e, const struct cs_count_decoded *d)
{
    const ZydisDecodedOperand *o = &d->operand[0];
    if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        const unsigned reg = number_of(o->reg.value);
        put(e, 0x48 | reg >> 3 << 2, 0x89, 0xc0 | (reg & 7) << 3);
        return;
    }
    if (o->mem.base == ZYDIS_REGISTER_RIP) {
        put(e, 0x48, 0x8b, 0x05);
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
    put(e, 0x48 | (index ? x >> 3 << 1 : 0) | (base ? b >> 3 : 0), 0x8b);
    put(e, base ? 0x84 : 0x04, scale << 6 | (index ? x & 7 : 4) << 3 | (base ? b & 7 : 5)); /* with disp32 */
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

static void write_end(struct emitter *e, const struct cs_count_decoded *d, uint64_t lookup)
{
    const uint64_t next = d->pc + d->insn.length,
                   target = cs_count_is_relative_branch(d) ? next + (uint64_t)d->operand[0].imm.value.s : 0;
    switch (cs_count_end_of(d)) {
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
        if (cs_count_is_relative_branch(d)) {
            if (cs_count_end_of(d) == CS_COUNT_CALL)
                push_return(e, next);
            leave(e, 0, target);
            break;
        }
        save_three(e);
        load_target(e, d);
        if (cs_count_end_of(d) == CS_COUNT_CALL)
            push_return(e, next);
        look_up(e, lookup);
        break;
    case CS_COUNT_RETURN: {
        const unsigned more = d->operand[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
                                      d->operand[0].visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT
                                  ? (unsigned)d->operand[0].imm.value.u & 0xffff
                                  : 0;
        save_three(e);
        put(e, 0x48, 0x8b, 0x04, 0x24); /* mov rax, [rsp] */
        put(e, 0x48, 0x8d, 0xa4, 0x24); /* lea rsp, [rsp + disp32] */
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
    struct cs_count_decoded d[CS_COUNT_INSTRUCTIONS_MAX];
    struct emitter e = {.out = out, .at = at};
    ZydisDecoder decoder;
    unsigned count = 0;
    size_t from = 0;
    out->n_code = out->n_exits = out->n_insns = 0;
    out->end = CS_COUNT_NEXT;
    out->refused = NULL;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    while (count < CS_COUNT_INSTRUCTIONS_MAX) {
        struct cs_count_decoded *one = &d[count];
        const char *refused = NULL;
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes + from, n - from, &one->insn, one->operand)))
            refused = "an instruction isn't known, or its memory can't be read";
        one->bytes = bytes + from;
        one->pc = pc + from;
        if (!refused)
            refused = cs_count_refusal(one);
        if (refused && count == 0) {
            out->refused = refused;
            return;
        }
        if (refused)
            break;
        from += one->insn.length;
        count++;
        if (cs_count_end_of(one) != CS_COUNT_NEXT || cs_count_stops(one))
            break;
    }
    write_counter(&e, counter, cs_count_flags_are_dead(d, count));
    const bool ends = cs_count_end_of(&d[count - 1]) != CS_COUNT_NEXT;
    for (unsigned i = 0; i < count; i++) {
        out->insn[i] = (struct cs_count_insn){d[i].insn.length, cs_count_mix_of(&d[i])};
        if (i + 1 < count || !ends)
            copy(&e, &d[i]);
    }
    out->n_insns = count;
    out->end = cs_count_end_of(&d[count - 1]);
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
    struct cs_count_translation whole;
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
    put(&e, 0xcc, 0x90);
    *syscall = whole.n_code;
    put(&e, 0x0f, 0x05); /* syscall */
    put(&e, 0xcc, 0x90);
    const unsigned hit = whole.n_code;
    put(&e, 0x48, 0x8b, 0x4a, 8); /* mov rcx, [rdx + 8] */
    slot(&e, 0x89, RCX, CS_COUNT_CODE);
    slot(&e, 0x8b, RAX, CS_COUNT_RAX);
    slot(&e, 0x8b, RCX, CS_COUNT_RCX);
    slot(&e, 0x8b, RDX, CS_COUNT_RDX);
    put(&e, 0x65, 0xff, 0x24, 0x25, CS_COUNT_CODE, 0, 0, 0); /* jmp gs:[CS_COUNT_CODE] */
    whole.code[loop + 4] = (uint8_t)(miss - (loop + 5));
    whole.code[loop + 10] = (uint8_t)(hit - (loop + 11));
    whole.code[miss - 1] = (uint8_t)(loop - miss);
    memcpy(code, whole.code, whole.n_code);
    return whole.n_code;
}
#endif
