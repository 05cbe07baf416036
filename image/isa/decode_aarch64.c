/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AArch64. Where control goes is read from the encoding itself (Arm ARM C4.1.66, "Branches, Exception
 * Generating and System instructions"). Every word is four bytes and the group is small. So an instruction
 * newer than the library (pointer authentication, SVE) never breaks a control-flow graph. Operands and text
 * are capstone's; what it doesn't know has no operands and prints as its word. */
#include "image/isa/decode_internal.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <string.h>

static uint64_t relative(uint64_t offset, uint32_t word, unsigned low, unsigned bits)
{
    int32_t field = (int32_t)(word << (32 - low - bits)) >> (32 - bits);
    return offset + (uint64_t)((int64_t)field * 4);
}

/* BR, BLR, RET, ERET and their authenticated forms. */
static enum cs_isa_flow flow_by_register(uint32_t word)
{
    switch (word >> 21 & 7) {
    case 0:
        return CS_ISA_FLOW_JUMP;
    case 1:
        return CS_ISA_FLOW_CALL;
    default:
        return CS_ISA_FLOW_RETURN;
    }
}

/* SVC, HVC and SMC come back; BRK, HLT and the rest are what abort() and __builtin_trap() become. */
static enum cs_isa_flow flow_of_exception(uint32_t word)
{
    return (word >> 21 & 7) == 0 ? CS_ISA_FLOW_NEXT : CS_ISA_FLOW_STOP;
}

static bool is_padding(uint32_t word)
{
    bool bti = (word & ~UINT32_C(0xc0)) == 0xd503241f;
    return word == 0 || word == 0xd503201f /* nop */ || bti;
}

unsigned decode_flow_aarch64(const uint8_t *bytes, size_t n, uint64_t offset, struct cs_isa_insn *insn)
{
    uint32_t word = 0;
    *insn = (struct cs_isa_insn){.offset = offset};
    if (n < sizeof word)
        return 0;
    memcpy(&word, bytes, sizeof word);
    unsigned group = word >> 25 & 15;
    bool reserved = group == 0 && !(word >> 31);
    if (group == 1 || group == 3 || (reserved && word >> 16))
        return 0;                                                           /* unallocated */
    enum cs_isa_flow flow = reserved ? CS_ISA_FLOW_STOP : CS_ISA_FLOW_NEXT; /* udf */
    if (word >> 26 == 5 || word >> 26 == 0x25) {
        flow = word >> 31 ? CS_ISA_FLOW_CALL : CS_ISA_FLOW_JUMP;
        insn->target = relative(offset, word, 0, 26);
    } else if (word >> 24 == 0x54) {
        flow = (word & 14) == 14 ? CS_ISA_FLOW_JUMP : CS_ISA_FLOW_BRANCH; /* al, nv: always */
        insn->target = relative(offset, word, 5, 19);
    } else if ((word & 0x7e000000) == 0x34000000) {
        flow = CS_ISA_FLOW_BRANCH;
        insn->target = relative(offset, word, 5, 19);
    } else if ((word & 0x7e000000) == 0x36000000) {
        flow = CS_ISA_FLOW_BRANCH;
        insn->target = relative(offset, word, 5, 14);
    } else if ((word & 0xfe1f0000) == 0xd61f0000) {
        flow = flow_by_register(word);
        insn->indirect = flow != CS_ISA_FLOW_RETURN;
    } else if (word >> 24 == 0xd4)
        flow = flow_of_exception(word);
    insn->flow = (uint8_t)flow;
    insn->padding = is_padding(word);
    return insn->length = sizeof word;
}

static uint64_t general(unsigned number)
{
    return cs_isa_register(CS_ISA_AARCH64, number);
}

/* 0 … 30, 31 = sp; CS_ISA_REG_NONE for all that is no general register. */
static uint8_t general_number(unsigned reg)
{
    if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
        return (uint8_t)(reg - ARM64_REG_X0);
    if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30)
        return (uint8_t)(reg - ARM64_REG_W0);
    if (reg == ARM64_REG_X29 || reg == ARM64_REG_X30)
        return reg == ARM64_REG_X29 ? 29 : 30;
    return reg == ARM64_REG_SP || reg == ARM64_REG_WSP ? 31 : CS_ISA_REG_NONE;
}

static const struct {
    unsigned first;
    uint8_t bytes;
} vectors[] = {{ARM64_REG_B0, 1}, {ARM64_REG_H0, 2},  {ARM64_REG_S0, 4},
               {ARM64_REG_D0, 8}, {ARM64_REG_Q0, 16}, {ARM64_REG_V0, 16}};

static uint64_t register_bit(unsigned reg)
{
    uint8_t number = general_number(reg);
    if (number != CS_ISA_REG_NONE)
        return general(number);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        if (reg >= vectors[i].first && reg < vectors[i].first + 32)
            return CS_ISA_REG_VECTOR(reg - vectors[i].first);
    return reg == ARM64_REG_NZCV ? CS_ISA_REG_FLAGS : 0;
}

static uint8_t register_bytes(unsigned reg)
{
    if ((reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30) || reg == ARM64_REG_WZR)
        return 4;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        if (reg >= vectors[i].first && reg < vectors[i].first + 32)
            return vectors[i].bytes;
    return 8;
}

/* Bytes of one access: the suffix says it, else the last register moved (stxr's first is its verdict). */
static uint8_t access_bytes(const cs_insn *in)
{
    const cs_arm64 *a = &in->detail->arm64;
    const char *name = in->mnemonic, *end = name + strlen(name);
    unsigned registers = 0;
    while (registers < a->op_count && a->operands[registers].type == ARM64_OP_REG)
        registers++;
    if (end - name > 3 && end[-1] == 'b')
        return 1;
    if (end - name > 3 && end[-1] == 'h')
        return 2;
    if (!strcmp(name, "ldrsw") || !strcmp(name, "ldursw"))
        return 4;
    uint8_t each = registers ? register_bytes(a->operands[registers - 1].reg) : 0;
    bool pair = name[2] == 'p' || (name[2] == 'n' && name[3] == 'p');
    return (uint8_t)(pair ? 2 * each : each);
}

static bool is_store(const char *name)
{
    return strncmp(name, "st", 2) == 0;
}

/* Loads, stores and atomics; prfm, dc and the like have a memory operand but no value. */
static bool is_access(const char *name)
{
    return is_store(name) || strncmp(name, "ld", 2) == 0 || strncmp(name, "cas", 3) == 0 ||
           strncmp(name, "swp", 3) == 0;
}

static bool is_atomic(const char *name)
{
    return strncmp(name, "cas", 3) == 0 || strncmp(name, "swp", 3) == 0 || strncmp(name, "ldadd", 5) == 0 ||
           strncmp(name, "ldclr", 5) == 0 || strncmp(name, "ldset", 5) == 0 ||
           strncmp(name, "ldeor", 5) == 0 || strncmp(name, "stadd", 5) == 0 ||
           strncmp(name, "ldax", 4) == 0 || strncmp(name, "stlx", 4) == 0 || strncmp(name, "ldx", 3) == 0 ||
           strncmp(name, "stx", 3) == 0;
}

static void add_memory(struct cs_isa_insn *insn, const cs_insn *in, const cs_arm64_op *o)
{
    if (!is_access(in->mnemonic) || insn->n_memory)
        return;
    bool both = insn->locked && strncmp(in->mnemonic, "ldx", 3) && strncmp(in->mnemonic, "ldax", 4) &&
                strncmp(in->mnemonic, "stx", 3) && strncmp(in->mnemonic, "stlx", 4);
    uint8_t width = access_bytes(in);
    insn->memory[insn->n_memory++] = (struct cs_isa_memory){
        .displacement = o->mem.disp,
        .base = general_number(o->mem.base),
        .index = general_number(o->mem.index),
        .scale = (uint8_t)(o->shift.type == ARM64_SFT_LSL && o->shift.value < 5 ? 1 << o->shift.value : 1),
        .width = width,
        .reads = both || !is_store(in->mnemonic),
        .writes = both || is_store(in->mnemonic),
    };
}

static void add_operands(struct cs_isa_insn *insn, csh handle, const cs_insn *in)
{
    cs_regs reads, writes;
    uint8_t n_reads = 0, n_writes = 0;
    if (cs_regs_access(handle, in, reads, &n_reads, writes, &n_writes) == CS_ERR_OK) {
        for (unsigned i = 0; i < n_reads; i++)
            insn->reads |= register_bit(reads[i]);
        for (unsigned i = 0; i < n_writes; i++)
            insn->writes |= register_bit(writes[i]);
    }
    const cs_arm64 *a = &in->detail->arm64;
    if (a->update_flags)
        insn->writes |= CS_ISA_REG_FLAGS;
    if (a->cc != ARM64_CC_INVALID && a->cc != ARM64_CC_AL && a->cc != ARM64_CC_NV)
        insn->reads |= CS_ISA_REG_FLAGS;
    insn->locked = is_atomic(in->mnemonic);
    for (unsigned i = 0; i < a->op_count; i++) {
        const cs_arm64_op *o = &a->operands[i];
        if (o->type == ARM64_OP_MEM)
            add_memory(insn, in, o);
        else if (o->type == ARM64_OP_IMM && is_access(in->mnemonic) && a->op_count == 2) /* ldr x0, literal */
            insn->memory[insn->n_memory++] = (struct cs_isa_memory){.displacement = o->imm,
                                                                    .base = CS_ISA_REG_NONE,
                                                                    .index = CS_ISA_REG_NONE,
                                                                    .width = access_bytes(in),
                                                                    .reads = true,
                                                                    .pc_relative = true};
        else if (o->type == ARM64_OP_IMM) {
            insn->immediate = o->imm;
            insn->has_immediate = true;
        }
    }
    insn->moves = in->id == ARM64_INS_MOV && a->op_count == 2 && a->operands[0].type == ARM64_OP_REG &&
                  a->operands[1].type == ARM64_OP_REG;
}

unsigned decode_aarch64(const uint8_t *bytes, size_t n, uint64_t offset, struct cs_isa_insn *insn)
{
    csh handle;
    cs_insn *in = NULL;
    if (!decode_flow_aarch64(bytes, n, offset, insn))
        return 0;
    if (cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &handle) != CS_ERR_OK)
        return insn->length;
    cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
    if (cs_disasm(handle, bytes, 4, offset, 1, &in) == 1) {
        insn->mnemonic = (uint16_t)in->id;
        add_operands(insn, handle, in);
        cs_free(in, 1);
    }
    cs_close(&handle);
    return insn->length;
}

char *decode_text_aarch64(const uint8_t *bytes, size_t n, uint64_t offset, char *text, size_t capacity)
{
    struct cs_isa_insn flow;
    csh handle;
    cs_insn *in = NULL;
    if (capacity == 0)
        return text;
    snprintf(text, capacity, "(bad)");
    if (!decode_flow_aarch64(bytes, n, offset, &flow))
        return text;
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    snprintf(text, capacity, ".inst 0x%08x", word);
    if (cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &handle) != CS_ERR_OK)
        return text;
    if (cs_disasm(handle, bytes, 4, offset, 1, &in) == 1) {
        snprintf(text, capacity, "%s%s%s", in->mnemonic, *in->op_str ? " " : "", in->op_str);
        char *target = flow.target ? strstr(text, "#0x") : NULL;
        for (char *next; target && (next = strstr(target + 1, "#0x"));) /* tbz has its bit first */
            target = next;
        if (target)
            memmove(target, target + 1, strlen(target));
        cs_free(in, 1);
    }
    cs_close(&handle);
    return text;
}
