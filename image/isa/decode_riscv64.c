/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RISC-V, rv64gc. A compressed instruction is read as the instruction of four bytes that it abbreviates (Unprivileged
 * ISA, "C"). So the rest of the code has one form to know. Ours, since Debian 12's capstone knows no RISC-V. What is
 * longer than four bytes, or reserved, doesn't decode. What belongs to extensions unknown here goes on with the next
 * and has no operands. */
#include "image/isa/decode_internal.h"

#include <string.h>

enum { RA = 1, SP = 2, T0 = 5 };

static uint32_t bits(uint32_t word, unsigned low, unsigned n)
{
    return word >> low & ((1u << n) - 1);
}

static int32_t extended(uint32_t value, unsigned n)
{
    return (int32_t)(value << (32 - n)) >> (32 - n);
}

static uint32_t r_form(uint32_t op, uint32_t f3, uint32_t f7, uint32_t rd, uint32_t rs1, uint32_t rs2)
{
    return f7 << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | op;
}

static uint32_t i_form(uint32_t op, uint32_t f3, uint32_t rd, uint32_t rs1, int32_t imm)
{
    return (uint32_t)imm << 20 | rs1 << 15 | f3 << 12 | rd << 7 | op;
}

static uint32_t s_form(uint32_t op, uint32_t f3, uint32_t rs1, uint32_t rs2, uint32_t imm)
{
    return bits(imm, 5, 7) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | bits(imm, 0, 5) << 7 | op;
}

static uint32_t b_form(uint32_t f3, uint32_t rs1, int32_t offset)
{
    uint32_t o = (uint32_t)offset;
    return bits(o, 12, 1) << 31 | bits(o, 5, 6) << 25 | rs1 << 15 | f3 << 12 | bits(o, 1, 4) << 8 |
           bits(o, 11, 1) << 7 | 0x63;
}

static uint32_t j_form(int32_t offset)
{
    uint32_t o = (uint32_t)offset;
    return bits(o, 20, 1) << 31 | bits(o, 1, 10) << 21 | bits(o, 11, 1) << 20 | bits(o, 12, 8) << 12 | 0x6f;
}

/* Loads and stores by a register of the eight. */
static uint32_t quadrant_0(uint32_t h)
{
    static const uint32_t loads[] = {0, 0x07, 0x03, 0x03}, stores[] = {0, 0x27, 0x23, 0x23},
                          widths[] = {0, 3, 2, 3};
    uint32_t f3 = bits(h, 13, 3), rd = 8 + bits(h, 2, 3), rs1 = 8 + bits(h, 7, 3), kind = f3 & 3;
    uint32_t twice = bits(h, 10, 3) << 3 | bits(h, 5, 2) << 6,
             word = bits(h, 10, 3) << 3 | bits(h, 6, 1) << 2 | bits(h, 5, 1) << 6;
    if (f3 == 0) {
        uint32_t imm = bits(h, 11, 2) << 4 | bits(h, 7, 4) << 6 | bits(h, 6, 1) << 2 | bits(h, 5, 1) << 3;
        return imm ? i_form(0x13, 0, rd, SP, (int32_t)imm) : 0;
    }
    if (kind == 0)
        return 0;
    uint32_t imm = kind == 2 ? word : twice;
    return f3 < 4 ? i_form(loads[kind], widths[kind], rd, rs1, (int32_t)imm)
                  : s_form(stores[kind], widths[kind], rs1, rd, imm);
}

static uint32_t arithmetic(uint32_t h, uint32_t shift, int32_t imm)
{
    static const uint32_t f3[] = {0, 4, 6, 7};
    uint32_t rd = 8 + bits(h, 7, 3), rs2 = 8 + bits(h, 2, 3), which = bits(h, 5, 2);
    switch (bits(h, 10, 2)) {
    case 0:
        return i_form(0x13, 5, rd, rd, (int32_t)shift);
    case 1:
        return i_form(0x13, 5, rd, rd, (int32_t)(shift | 0x400));
    case 2:
        return i_form(0x13, 7, rd, rd, imm);
    default:
        if (!bits(h, 12, 1))
            return r_form(0x33, f3[which], which == 0 ? 0x20 : 0, rd, rd, rs2);
        return which < 2 ? r_form(0x3b, 0, which == 0 ? 0x20 : 0, rd, rd, rs2) : 0;
    }
}

static uint32_t quadrant_1(uint32_t h)
{
    uint32_t rd = bits(h, 7, 5), low = bits(h, 2, 5), high = bits(h, 12, 1), shift = high << 5 | low;
    int32_t imm = extended(shift, 6);
    switch (bits(h, 13, 3)) {
    case 0:
        return i_form(0x13, 0, rd, rd, imm);
    case 1:
        return rd ? i_form(0x1b, 0, rd, rd, imm) : 0;
    case 2:
        return i_form(0x13, 0, rd, 0, imm);
    case 3:
        if (shift == 0)
            return 0;
        if (rd != SP)
            return (uint32_t)imm << 12 | rd << 7 | 0x37;
        return i_form(0x13, 0, SP, SP,
                      extended(high << 9 | bits(h, 6, 1) << 4 | bits(h, 5, 1) << 6 | bits(h, 3, 2) << 7 |
                                   bits(h, 2, 1) << 5,
                               10));
    case 4:
        return arithmetic(h, shift, imm);
    case 5:
        return j_form(extended(high << 11 | bits(h, 11, 1) << 4 | bits(h, 9, 2) << 8 | bits(h, 8, 1) << 10 |
                                   bits(h, 7, 1) << 6 | bits(h, 6, 1) << 7 | bits(h, 3, 3) << 1 |
                                   bits(h, 2, 1) << 5,
                               12));
    default:
        return b_form(bits(h, 13, 1), 8 + bits(h, 7, 3),
                      extended(high << 8 | bits(h, 10, 2) << 3 | bits(h, 5, 2) << 6 | bits(h, 3, 2) << 1 |
                                   bits(h, 2, 1) << 5,
                               9));
    }
}

static uint32_t quadrant_2(uint32_t h)
{
    uint32_t rd = bits(h, 7, 5), rs2 = bits(h, 2, 5), high = bits(h, 12, 1);
    uint32_t twice = high << 5 | bits(h, 5, 2) << 3 | bits(h, 2, 3) << 6,
             word = high << 5 | bits(h, 4, 3) << 2 | bits(h, 2, 2) << 6,
             store_twice = bits(h, 10, 3) << 3 | bits(h, 7, 3) << 6,
             store_word = bits(h, 9, 4) << 2 | bits(h, 7, 2) << 6;
    switch (bits(h, 13, 3)) {
    case 0:
        return i_form(0x13, 1, rd, rd, (int32_t)(high << 5 | rs2));
    case 1:
        return i_form(0x07, 3, rd, SP, (int32_t)twice);
    case 2:
        return rd ? i_form(0x03, 2, rd, SP, (int32_t)word) : 0;
    case 3:
        return rd ? i_form(0x03, 3, rd, SP, (int32_t)twice) : 0;
    case 4:
        if (rs2)
            return r_form(0x33, 0, 0, rd, high ? rd : 0, rs2);
        if (rd == 0)
            return high ? 0x00100073 : 0; /* ebreak */
        return i_form(0x67, 0, high ? RA : 0, rd, 0);
    case 5:
        return s_form(0x27, 3, SP, rs2, store_twice);
    case 6:
        return s_form(0x23, 2, SP, rs2, store_word);
    default:
        return s_form(0x23, 3, SP, rs2, store_twice);
    }
}

unsigned riscv64_word(const uint8_t *bytes, size_t n, uint32_t *word)
{
    uint16_t half;
    if (n < sizeof half)
        return 0;
    memcpy(&half, bytes, sizeof half);
    if ((half & 3) != 3) {
        *word = half == 0         ? RISCV64_UNIMP
                : (half & 3) == 0 ? quadrant_0(half)
                : (half & 3) == 1 ? quadrant_1(half)
                                  : quadrant_2(half);
        return *word ? 2 : 0;
    }
    if ((half & 0x1c) == 0x1c || n < sizeof *word) /* six bytes and more */
        return 0;
    memcpy(word, bytes, sizeof *word);
    return 4;
}

int32_t riscv64_immediate(uint32_t w)
{
    switch (w & 0x7f) {
    case 0x23: /* stores */
    case 0x27:
        return extended(w >> 25 << 5 | bits(w, 7, 5), 12);
    case 0x63: /* branches */
        return extended(w >> 31 << 12 | bits(w, 7, 1) << 11 | bits(w, 25, 6) << 5 | bits(w, 8, 4) << 1, 13);
    case 0x6f: /* jal */
        return extended(w >> 31 << 20 | bits(w, 12, 8) << 12 | bits(w, 20, 1) << 11 | bits(w, 21, 10) << 1,
                        21);
    case 0x37: /* lui, auipc */
    case 0x17:
        return (int32_t)(w & 0xfffff000);
    default:
        return (int32_t)w >> 20;
    }
}

static bool links(uint32_t reg)
{
    return reg == RA || reg == T0;
}

static enum cs_isa_flow flow_of(uint32_t w, uint32_t rd, uint32_t rs1)
{
    switch (w & 0x7f) {
    case 0x63:
        return bits(w, 13, 2) == 1 ? CS_ISA_FLOW_NEXT : CS_ISA_FLOW_BRANCH;
    case 0x6f:
        return rd ? CS_ISA_FLOW_CALL : CS_ISA_FLOW_JUMP;
    case 0x67:
        if (rd)
            return CS_ISA_FLOW_CALL;
        return links(rs1) && w >> 20 == 0 ? CS_ISA_FLOW_RETURN : CS_ISA_FLOW_JUMP;
    default:
        return w == 0x00100073 || w == RISCV64_UNIMP                              ? CS_ISA_FLOW_STOP
               : w == 0x10200073 || w == 0x30200073 || w == 0x00200073 /* xret */ ? CS_ISA_FLOW_RETURN
                                                                                  : CS_ISA_FLOW_NEXT;
    }
}

unsigned decode_flow_riscv64(const uint8_t *bytes, size_t n, uint64_t offset, struct cs_isa_insn *insn)
{
    uint32_t w;
    *insn = (struct cs_isa_insn){.offset = offset};
    unsigned length = riscv64_word(bytes, n, &w);
    if (!length)
        return 0;
    uint32_t op = w & 0x7f, rd = bits(w, 7, 5), rs1 = bits(w, 15, 5);
    enum cs_isa_flow flow = flow_of(w, rd, rs1);
    if (flow == CS_ISA_FLOW_BRANCH || op == 0x6f)
        insn->target = offset + (uint64_t)(int64_t)riscv64_immediate(w);
    insn->indirect = op == 0x67 && flow != CS_ISA_FLOW_RETURN;
    insn->flow = (uint8_t)flow;
    insn->padding = w == 0x00000013 || w == RISCV64_UNIMP;
    return insn->length = (uint8_t)length;
}

uint64_t far_target_riscv64(const uint8_t *bytes, size_t n, uint64_t offset)
{
    uint32_t auipc, jalr;
    if (riscv64_word(bytes, n, &auipc) != 4 || (auipc & 0x7f) != 0x17 ||
        !riscv64_word(bytes + 4, n - 4, &jalr) || (jalr & 0x7f) != 0x67 ||
        bits(jalr, 15, 5) != bits(auipc, 7, 5))
        return 0;
    return (offset + (uint64_t)(int64_t)(riscv64_immediate(auipc) + (int64_t)riscv64_immediate(jalr))) &
           ~1ull;
}

static uint64_t general(uint32_t number)
{
    return cs_isa_register(CS_ISA_RISCV64, number);
}

static void add_memory(struct cs_isa_insn *insn, uint32_t w, uint32_t width, bool reads, bool writes)
{
    bool atomic = (w & 0x7f) == 0x2f;
    insn->memory[insn->n_memory++] = (struct cs_isa_memory){.displacement = atomic ? 0 : riscv64_immediate(w),
                                                            .base = (uint8_t)bits(w, 15, 5),
                                                            .index = CS_ISA_REG_NONE,
                                                            .scale = 1,
                                                            .width = (uint8_t)width,
                                                            .reads = reads,
                                                            .writes = writes};
}

/* Which of OP-FP's operands are general registers. */
static void float_operands(struct cs_isa_insn *insn, uint32_t w)
{
    uint32_t kind = w >> 27, rd = bits(w, 7, 5), rs1 = bits(w, 15, 5), rs2 = bits(w, 20, 5);
    bool to_general = kind == 0x18 || kind == 0x1c || kind == 0x14,
         from_general = kind == 0x1a || kind == 0x1e,
         alone = kind == 0x0b || kind == 0x08 || kind == 0x18 || kind == 0x1c || from_general;
    insn->writes |= to_general ? general(rd) : CS_ISA_REG_VECTOR(rd);
    insn->reads |= from_general ? general(rs1) : CS_ISA_REG_VECTOR(rs1);
    insn->reads |= alone ? 0 : CS_ISA_REG_VECTOR(rs2);
}

static void add_operands(struct cs_isa_insn *insn, uint32_t w)
{
    uint32_t f3 = bits(w, 12, 3);
    uint64_t rd = general(bits(w, 7, 5)), rs1 = general(bits(w, 15, 5)), rs2 = general(bits(w, 20, 5));
    bool immediate = false;
    switch (w & 0x7f) {
    case 0x03:
    case 0x07:
        insn->reads = rs1;
        insn->writes = (w & 0x7f) == 3 ? rd : CS_ISA_REG_VECTOR(bits(w, 7, 5));
        add_memory(insn, w, 1u << (f3 & 3), true, false);
        break;
    case 0x23:
    case 0x27:
        insn->reads = rs1 | ((w & 0x7f) == 0x23 ? rs2 : CS_ISA_REG_VECTOR(bits(w, 20, 5)));
        add_memory(insn, w, 1u << (f3 & 3), false, true);
        break;
    case 0x2f: {
        uint32_t kind = w >> 27; /* 2 lr, 3 sc */
        insn->reads = rs1 | (kind == 2 ? 0 : rs2);
        insn->writes = rd;
        insn->locked = true;
        add_memory(insn, w, 1u << (f3 & 3), kind != 3, kind != 2);
        break;
    }
    case 0x13:
    case 0x1b:
    case 0x67:
        insn->reads = rs1;
        insn->writes = rd;
        immediate = true;
        insn->moves = (w & 0xfff0707f) == 0x13 && bits(w, 15, 5);
        break;
    case 0x33:
    case 0x3b:
        insn->reads = rs1 | rs2;
        insn->writes = rd;
        insn->moves = (w & 0xfe0ff07f) == 0x33;
        break;
    case 0x17:
    case 0x37:
    case 0x6f:
        insn->writes = rd;
        immediate = (w & 0x7f) != 0x6f;
        break;
    case 0x63:
        insn->reads = rs1 | rs2;
        break;
    case 0x43:
    case 0x47:
    case 0x4b:
    case 0x4f:
        insn->reads = CS_ISA_REG_VECTOR(bits(w, 15, 5)) | CS_ISA_REG_VECTOR(bits(w, 20, 5)) |
                      CS_ISA_REG_VECTOR(w >> 27);
        insn->writes = CS_ISA_REG_VECTOR(bits(w, 7, 5));
        break;
    case 0x53:
        float_operands(insn, w);
        break;
    case 0x73: /* csr…: with a register or a small number */
        insn->reads = f3 && f3 < 4 ? rs1 : 0;
        insn->writes = f3 ? rd : 0;
        break;
    default:
        break;
    }
    if (immediate) {
        insn->immediate = riscv64_immediate(w);
        insn->has_immediate = true;
    }
}

unsigned decode_riscv64(const uint8_t *bytes, size_t n, uint64_t offset, struct cs_isa_insn *insn)
{
    uint32_t w;
    if (!decode_flow_riscv64(bytes, n, offset, insn) || !riscv64_word(bytes, n, &w))
        return 0;
    add_operands(insn, w);
    return insn->length;
}
