/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RISC-V's text, as binutils writes it: names of the ABI for registers, the usual pseudo-instructions. */
#include "image/isa/decode_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Operands, a letter each: d s t registers rd, rs1, rs2; D S T R floating ones, R the third; i immediate; o (rs1) with the
 * immediate of a load, store or jalr; 0 (rs1) alone; b target of a branch or jump; u upper immediate; x X shift amount of 6
 * and 5 bits; c a CSR; z five bits in rs1's place; m rounding; f fence's sets. The first form that fits is taken. */
struct form {
    const char *name, *operands;
    uint32_t mask, match;
};

#define OP(op) 0x7fu, (op)
#define OP3(op, f3) 0x707fu, (op) | (uint32_t)(f3) << 12
#define OP37(op, f3, f7) 0xfe00707fu, (op) | (uint32_t)(f3) << 12 | (uint32_t)(f7) << 25
#define SHIFT(op, f3, f6) 0xfc00707fu, (op) | (uint32_t)(f3) << 12 | (uint32_t)(f6) << 26
#define AMO(f3, f5) 0xf800707fu, 0x2fu | (uint32_t)(f3) << 12 | (uint32_t)(f5) << 27
#define FP(f7) 0xfe00007fu, 0x53u | (uint32_t)(f7) << 25
#define FP3(f7, f3) 0xfe00707fu, 0x53u | (uint32_t)(f3) << 12 | (uint32_t)(f7) << 25
#define FP1(f7, rs2) 0xfff0007fu, 0x53u | (uint32_t)(rs2) << 20 | (uint32_t)(f7) << 25
#define FP13(f7, rs2, f3)                                                                                    \
    0xfff0707fu, 0x53u | (uint32_t)(rs2) << 20 | (uint32_t)(f3) << 12 | (uint32_t)(f7) << 25
#define FUSED(op, format) 0x0600007fu, (op) | (uint32_t)(format) << 25
#define CSR(f3, csr) 0xfff0707fu, 0x73u | (uint32_t)(f3) << 12 | (uint32_t)(csr) << 20
#define WORD(w) 0xffffffffu, (w)

// clang-format off
static const struct form forms[] = {
    {"nop", "", WORD(0x13)}, {"ret", "", WORD(0x8067)}, {"unimp", "", WORD(RISCV64_UNIMP)},
    {"ecall", "", WORD(0x73)}, {"ebreak", "", WORD(0x00100073)}, {"wfi", "", WORD(0x10500073)},
    {"sret", "", WORD(0x10200073)}, {"mret", "", WORD(0x30200073)}, {"pause", "", WORD(0x0100000f)},
    {"fence.i", "", WORD(0x100f)}, {"fence.tso", "", WORD(0x8330000f)}, {"fence", "", WORD(0x0ff0000f)},
    {"fence", "f", OP3(0x0f, 0)},
    {"sfence.vma", "", WORD(0x12000073)}, {"sfence.vma", "st", 0xfe007fffu, 0x12000073u},
    /* pseudo-instructions, before what they stand for */
    {"li", "di", 0xff07fu, 0x13}, {"mv", "ds", 0xfff0707fu, 0x13}, {"mv", "dt", 0xfe0ff07fu, 0x33},
    {"not", "ds", 0xfff0707fu, 0xfff04013}, {"seqz", "ds", 0xfff0707fu, 0x103013},
    {"zext.b", "ds", 0xfff0707fu, 0x0ff07013}, {"sext.w", "ds", 0xfff0707fu, 0x1b},
    {"snez", "dt", 0xfe0ff07fu, 0x3033}, {"sltz", "ds", 0xfff0707fu, 0x2033}, {"sgtz", "dt", 0xfe0ff07fu, 0x2033},
    {"neg", "dt", 0xfe0ff07fu, 0x40000033}, {"negw", "dt", 0xfe0ff07fu, 0x4000003b},
    {"beqz", "sb", 0x1f0707fu, 0x63}, {"bnez", "sb", 0x1f0707fu, 0x1063}, {"blez", "tb", 0xff07fu, 0x5063},
    {"bgez", "sb", 0x1f0707fu, 0x5063}, {"bltz", "sb", 0x1f0707fu, 0x4063}, {"bgtz", "tb", 0xff07fu, 0x4063},
    {"j", "b", 0xfffu, 0x6f}, {"jal", "b", 0xfffu, 0xef}, {"jal", "db", OP(0x6f)},
    {"jr", "s", 0xfff07fffu, 0x67}, {"jr", "o", 0x7fffu, 0x67}, {"jalr", "s", 0xfff07fffu, 0xe7},
    {"jalr", "o", 0x7fffu, 0xe7}, {"jalr", "ds", 0xfff0707fu, 0x67}, {"jalr", "do", OP3(0x67, 0)},
    {"rdcycle", "d", 0xfffff07fu, 0xc0002073}, {"rdtime", "d", 0xfffff07fu, 0xc0102073},
    {"rdinstret", "d", 0xfffff07fu, 0xc0202073},
    {"frflags", "d", 0xfffff07fu, 0x00102073}, {"frrm", "d", 0xfffff07fu, 0x00202073},
    {"frcsr", "d", 0xfffff07fu, 0x00302073}, {"fsflags", "s", 0xfff07fffu, 0x00101073},
    {"fsflags", "ds", CSR(1, 1)}, {"fsrm", "s", 0xfff07fffu, 0x00201073}, {"fsrm", "ds", CSR(1, 2)},
    {"fscsr", "s", 0xfff07fffu, 0x00301073}, {"fscsr", "ds", CSR(1, 3)}, {"fsflagsi", "dz", CSR(5, 1)},
    {"csrr", "dc", 0xff07fu, 0x2073}, {"csrw", "cs", 0x7fffu, 0x1073}, {"csrs", "cs", 0x7fffu, 0x2073},
    {"csrc", "cs", 0x7fffu, 0x3073}, {"csrwi", "cz", 0x7fffu, 0x5073}, {"csrsi", "cz", 0x7fffu, 0x6073},
    {"csrci", "cz", 0x7fffu, 0x7073},
    /* RV64I, Zicsr */
    {"lui", "du", OP(0x37)}, {"auipc", "du", OP(0x17)},
    {"beq", "stb", OP3(0x63, 0)}, {"bne", "stb", OP3(0x63, 1)}, {"blt", "stb", OP3(0x63, 4)},
    {"bge", "stb", OP3(0x63, 5)}, {"bltu", "stb", OP3(0x63, 6)}, {"bgeu", "stb", OP3(0x63, 7)},
    {"lb", "do", OP3(3, 0)}, {"lh", "do", OP3(3, 1)}, {"lw", "do", OP3(3, 2)}, {"ld", "do", OP3(3, 3)},
    {"lbu", "do", OP3(3, 4)}, {"lhu", "do", OP3(3, 5)}, {"lwu", "do", OP3(3, 6)},
    {"sb", "to", OP3(0x23, 0)}, {"sh", "to", OP3(0x23, 1)}, {"sw", "to", OP3(0x23, 2)}, {"sd", "to", OP3(0x23, 3)},
    {"addi", "dsi", OP3(0x13, 0)}, {"slti", "dsi", OP3(0x13, 2)}, {"sltiu", "dsi", OP3(0x13, 3)},
    {"xori", "dsi", OP3(0x13, 4)}, {"ori", "dsi", OP3(0x13, 6)}, {"andi", "dsi", OP3(0x13, 7)},
    {"slli", "dsx", SHIFT(0x13, 1, 0)}, {"srli", "dsx", SHIFT(0x13, 5, 0)}, {"srai", "dsx", SHIFT(0x13, 5, 0x10)},
    {"addiw", "dsi", OP3(0x1b, 0)}, {"slliw", "dsX", OP37(0x1b, 1, 0)}, {"srliw", "dsX", OP37(0x1b, 5, 0)},
    {"sraiw", "dsX", OP37(0x1b, 5, 0x20)},
    {"add", "dst", OP37(0x33, 0, 0)}, {"sub", "dst", OP37(0x33, 0, 0x20)}, {"sll", "dst", OP37(0x33, 1, 0)},
    {"slt", "dst", OP37(0x33, 2, 0)}, {"sltu", "dst", OP37(0x33, 3, 0)}, {"xor", "dst", OP37(0x33, 4, 0)},
    {"srl", "dst", OP37(0x33, 5, 0)}, {"sra", "dst", OP37(0x33, 5, 0x20)}, {"or", "dst", OP37(0x33, 6, 0)},
    {"and", "dst", OP37(0x33, 7, 0)},
    {"addw", "dst", OP37(0x3b, 0, 0)}, {"subw", "dst", OP37(0x3b, 0, 0x20)}, {"sllw", "dst", OP37(0x3b, 1, 0)},
    {"srlw", "dst", OP37(0x3b, 5, 0)}, {"sraw", "dst", OP37(0x3b, 5, 0x20)},
    {"csrrw", "dcs", OP3(0x73, 1)}, {"csrrs", "dcs", OP3(0x73, 2)}, {"csrrc", "dcs", OP3(0x73, 3)},
    {"csrrwi", "dcz", OP3(0x73, 5)}, {"csrrsi", "dcz", OP3(0x73, 6)}, {"csrrci", "dcz", OP3(0x73, 7)},
    /* M */
    {"mul", "dst", OP37(0x33, 0, 1)}, {"mulh", "dst", OP37(0x33, 1, 1)}, {"mulhsu", "dst", OP37(0x33, 2, 1)},
    {"mulhu", "dst", OP37(0x33, 3, 1)}, {"div", "dst", OP37(0x33, 4, 1)}, {"divu", "dst", OP37(0x33, 5, 1)},
    {"rem", "dst", OP37(0x33, 6, 1)}, {"remu", "dst", OP37(0x33, 7, 1)}, {"mulw", "dst", OP37(0x3b, 0, 1)},
    {"divw", "dst", OP37(0x3b, 4, 1)}, {"divuw", "dst", OP37(0x3b, 5, 1)}, {"remw", "dst", OP37(0x3b, 6, 1)},
    {"remuw", "dst", OP37(0x3b, 7, 1)},
    /* A */
    {"lr.w", "d0", AMO(2, 2)}, {"lr.d", "d0", AMO(3, 2)}, {"sc.w", "dt0", AMO(2, 3)}, {"sc.d", "dt0", AMO(3, 3)},
    {"amoswap.w", "dt0", AMO(2, 1)}, {"amoswap.d", "dt0", AMO(3, 1)}, {"amoadd.w", "dt0", AMO(2, 0)},
    {"amoadd.d", "dt0", AMO(3, 0)}, {"amoxor.w", "dt0", AMO(2, 4)}, {"amoxor.d", "dt0", AMO(3, 4)},
    {"amoand.w", "dt0", AMO(2, 12)}, {"amoand.d", "dt0", AMO(3, 12)}, {"amoor.w", "dt0", AMO(2, 8)},
    {"amoor.d", "dt0", AMO(3, 8)}, {"amomin.w", "dt0", AMO(2, 16)}, {"amomin.d", "dt0", AMO(3, 16)},
    {"amomax.w", "dt0", AMO(2, 20)}, {"amomax.d", "dt0", AMO(3, 20)}, {"amominu.w", "dt0", AMO(2, 24)},
    {"amominu.d", "dt0", AMO(3, 24)}, {"amomaxu.w", "dt0", AMO(2, 28)}, {"amomaxu.d", "dt0", AMO(3, 28)},
    /* F, D */
    {"flw", "Do", OP3(7, 2)}, {"fld", "Do", OP3(7, 3)}, {"fsw", "To", OP3(0x27, 2)}, {"fsd", "To", OP3(0x27, 3)},
    {"fmadd.s", "DSTRm", FUSED(0x43, 0)}, {"fmsub.s", "DSTRm", FUSED(0x47, 0)}, {"fnmsub.s", "DSTRm", FUSED(0x4b, 0)},
    {"fnmadd.s", "DSTRm", FUSED(0x4f, 0)}, {"fmadd.d", "DSTRm", FUSED(0x43, 1)}, {"fmsub.d", "DSTRm", FUSED(0x47, 1)},
    {"fnmsub.d", "DSTRm", FUSED(0x4b, 1)}, {"fnmadd.d", "DSTRm", FUSED(0x4f, 1)},
    {"fadd.s", "DSTm", FP(0)}, {"fadd.d", "DSTm", FP(1)}, {"fsub.s", "DSTm", FP(4)}, {"fsub.d", "DSTm", FP(5)},
    {"fmul.s", "DSTm", FP(8)}, {"fmul.d", "DSTm", FP(9)}, {"fdiv.s", "DSTm", FP(12)}, {"fdiv.d", "DSTm", FP(13)},
    {"fsqrt.s", "DSm", FP1(0x2c, 0)}, {"fsqrt.d", "DSm", FP1(0x2d, 0)},
    {"fsgnj.s", "DST", FP3(16, 0)}, {"fsgnj.d", "DST", FP3(17, 0)}, {"fsgnjn.s", "DST", FP3(16, 1)},
    {"fsgnjn.d", "DST", FP3(17, 1)}, {"fsgnjx.s", "DST", FP3(16, 2)}, {"fsgnjx.d", "DST", FP3(17, 2)},
    {"fmin.s", "DST", FP3(20, 0)}, {"fmin.d", "DST", FP3(21, 0)}, {"fmax.s", "DST", FP3(20, 1)},
    {"fmax.d", "DST", FP3(21, 1)},
    {"fle.s", "dST", FP3(0x50, 0)}, {"fle.d", "dST", FP3(0x51, 0)}, {"flt.s", "dST", FP3(0x50, 1)},
    {"flt.d", "dST", FP3(0x51, 1)}, {"feq.s", "dST", FP3(0x50, 2)}, {"feq.d", "dST", FP3(0x51, 2)},
    {"fcvt.w.s", "dSm", FP1(0x60, 0)}, {"fcvt.wu.s", "dSm", FP1(0x60, 1)}, {"fcvt.l.s", "dSm", FP1(0x60, 2)},
    {"fcvt.lu.s", "dSm", FP1(0x60, 3)}, {"fcvt.w.d", "dSm", FP1(0x61, 0)}, {"fcvt.wu.d", "dSm", FP1(0x61, 1)},
    {"fcvt.l.d", "dSm", FP1(0x61, 2)}, {"fcvt.lu.d", "dSm", FP1(0x61, 3)}, {"fcvt.s.w", "Dsm", FP1(0x68, 0)},
    {"fcvt.s.wu", "Dsm", FP1(0x68, 1)}, {"fcvt.s.l", "Dsm", FP1(0x68, 2)}, {"fcvt.s.lu", "Dsm", FP1(0x68, 3)},
    {"fcvt.d.w", "Ds", FP1(0x69, 0)}, {"fcvt.d.wu", "Ds", FP1(0x69, 1)}, {"fcvt.d.l", "Dsm", FP1(0x69, 2)},
    {"fcvt.d.lu", "Dsm", FP1(0x69, 3)}, {"fcvt.s.d", "DSm", FP1(0x20, 1)}, {"fcvt.d.s", "DS", FP1(0x21, 0)},
    {"fmv.x.w", "dS", FP13(0x70, 0, 0)}, {"fmv.x.d", "dS", FP13(0x71, 0, 0)}, {"fclass.s", "dS", FP13(0x70, 0, 1)},
    {"fclass.d", "dS", FP13(0x71, 0, 1)}, {"fmv.w.x", "Ds", FP13(0x78, 0, 0)}, {"fmv.d.x", "Ds", FP13(0x79, 0, 0)},
};

static const char general_names[32][5] = {
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5",
    "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};
static const char float_names[32][5] = {
    "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3", "fa4", "fa5",
    "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11"};
// clang-format on

static void write_sets(uint32_t w, char *out, size_t capacity)
{
    char sets[2][5] = {"", ""};
    for (unsigned set = 0; set < 2; set++)
        for (unsigned i = 0, n = 0; i < 4; i++)
            if (w >> (27 - 4 * set - i) & 1)
                sets[set][n++] = "iorw"[i];
    snprintf(out, capacity, "%s,%s", sets[0], sets[1]);
}

static void write_operand(char letter, uint32_t w, uint64_t offset, char *out, size_t capacity)
{
    static const char *const rounding[] = {"rne", "rtz", "rdn", "rup", "rmm", "5", "6", ""};
    static const char *const csrs[] = {"", "fflags", "frm", "fcsr"};
    static const struct {
        char letter;
        unsigned shift;
        const char (*names)[5];
    } registers[] = {{'d', 7, general_names}, {'s', 15, general_names}, {'t', 20, general_names},
                     {'D', 7, float_names},   {'S', 15, float_names},   {'T', 20, float_names},
                     {'R', 27, float_names}};
    const char *rs1 = general_names[w >> 15 & 31];
    int32_t immediate = riscv64_immediate(w);
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
        if (registers[i].letter == letter) {
            snprintf(out, capacity, "%s", registers[i].names[w >> registers[i].shift & 31]);
            return;
        }
    switch (letter) {
    case 'i':
        snprintf(out, capacity, "%" PRId32, immediate);
        break;
    case 'o':
        snprintf(out, capacity, "%" PRId32 "(%s)", immediate, rs1);
        break;
    case '0':
        snprintf(out, capacity, "(%s)", rs1);
        break;
    case 'b':
        snprintf(out, capacity, "0x%" PRIx64, offset + (uint64_t)(int64_t)immediate);
        break;
    case 'u':
        snprintf(out, capacity, "0x%" PRIx32, w >> 12);
        break;
    case 'x':
    case 'X':
        snprintf(out, capacity, "0x%" PRIx32, w >> 20 & (letter == 'x' ? 63 : 31));
        break;
    case 'c':
        if (w >> 20 >= 1 && w >> 20 <= 3)
            snprintf(out, capacity, "%s", csrs[w >> 20]);
        else
            snprintf(out, capacity, "0x%" PRIx32, w >> 20);
        break;
    case 'z':
        snprintf(out, capacity, "%" PRIu32, w >> 15 & 31);
        break;
    case 'm':
        snprintf(out, capacity, "%s", rounding[w >> 12 & 7]);
        break;
    default:
        write_sets(w, out, capacity);
        break;
    }
}

static const struct form *form_of(uint32_t w)
{
    /* fsgnj with one register twice */
    static const struct form twice[3][2] = {
        {{.name = "fmv.s", .operands = "DS"}, {.name = "fmv.d", .operands = "DS"}},
        {{.name = "fneg.s", .operands = "DS"}, {.name = "fneg.d", .operands = "DS"}},
        {{.name = "fabs.s", .operands = "DS"}, {.name = "fabs.d", .operands = "DS"}}};
    if ((w & 0xfc00007f) == 0x20000053 && (w >> 15 & 31) == (w >> 20 & 31) && (w >> 12 & 7) < 3)
        return &twice[w >> 12 & 7][w >> 25 & 1];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if ((w & forms[i].mask) == forms[i].match)
            return &forms[i];
    return NULL;
}

char *decode_text_riscv64(const uint8_t *bytes, size_t n, uint64_t offset, char *text, size_t capacity)
{
    assert(text);
    static const char *const orders[] = {"", ".rl", ".aq", ".aqrl"};
    char operands[64] = "", one[32];
    uint32_t w;
    if (capacity == 0)
        return text;
    unsigned length = riscv64_word(bytes, n, &w);
    const struct form *form = length ? form_of(w) : NULL;
    snprintf(text, capacity, "(bad)");
    if (!form) {
        if (length)
            snprintf(text, capacity, ".4byte 0x%08" PRIx32, w);
        return text;
    }
    size_t used = 0;
    for (const char *letter = form->operands; *letter; letter++) {
        write_operand(*letter, w, offset, one, sizeof one);
        if (*one)
            used += (size_t)snprintf(operands + used, sizeof operands - used, "%s%s", used ? "," : "", one);
    }
    snprintf(text, capacity, "%s%s%s%s", form->name, (w & 0x7f) == 0x2f ? orders[w >> 25 & 3] : "",
             used ? " " : "", operands);
    return text;
}
