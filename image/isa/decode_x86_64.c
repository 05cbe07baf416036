/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64 by Zydis. */
#include "image/isa/decode_internal.h"

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>

static ZydisDecoder decoder(void)
{
    ZydisDecoder d;
    ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return d;
}

/* Category and a few names; everything else goes on. */
static enum cs_isa_flow flow_of(const ZydisDecodedInstruction *z)
{
    switch (z->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        return z->mnemonic == ZYDIS_MNEMONIC_XBEGIN || z->mnemonic == ZYDIS_MNEMONIC_XABORT
                   ? CS_ISA_FLOW_NEXT
                   : CS_ISA_FLOW_BRANCH;
    case ZYDIS_CATEGORY_UNCOND_BR:
        return z->mnemonic == ZYDIS_MNEMONIC_JMP ? CS_ISA_FLOW_JUMP : CS_ISA_FLOW_NEXT; /* xabort, xbegin */
    case ZYDIS_CATEGORY_CALL:
        return z->mnemonic == ZYDIS_MNEMONIC_CALL ? CS_ISA_FLOW_CALL
                                                  : CS_ISA_FLOW_NEXT; /* syscall is elsewhere */
    case ZYDIS_CATEGORY_RET:
        return CS_ISA_FLOW_RETURN;
    default:
        break;
    }
    switch (z->mnemonic) {
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
        return CS_ISA_FLOW_STOP;
    case ZYDIS_MNEMONIC_SYSRET:
    case ZYDIS_MNEMONIC_SYSEXIT:
    case ZYDIS_MNEMONIC_IRETQ:
        return CS_ISA_FLOW_RETURN;
    default:
        return CS_ISA_FLOW_NEXT;
    }
}

/* What compilers put between procedures and before loops. */
static bool is_padding(ZydisMnemonic m)
{
    return m == ZYDIS_MNEMONIC_NOP || m == ZYDIS_MNEMONIC_INT3 || m == ZYDIS_MNEMONIC_XCHG ||
           m == ZYDIS_MNEMONIC_LEA || m == ZYDIS_MNEMONIC_ENDBR64;
}

static bool start(const ZydisDecodedInstruction *z, uint64_t offset, struct cs_isa_insn *insn)
{
    *insn = (struct cs_isa_insn){.offset = offset,
                                 .mnemonic = (uint16_t)z->mnemonic,
                                 .length = z->length,
                                 .flow = (uint8_t)flow_of(z),
                                 .padding = is_padding(z->mnemonic)};
    if (insn->flow == CS_ISA_FLOW_BRANCH || insn->flow == CS_ISA_FLOW_JUMP ||
        insn->flow == CS_ISA_FLOW_CALL) {
        if (z->raw.imm[0].size && z->raw.imm[0].is_relative)
            insn->target = offset + z->length + (uint64_t)z->raw.imm[0].value.s;
        else
            insn->indirect = true;
    }
    return true;
}

static unsigned unknown(const uint8_t *bytes, size_t n, uint64_t offset, struct cs_isa_insn *insn)
{
    *insn = (struct cs_isa_insn){.offset = offset, .length = (uint8_t)length_of_unknown_x86_64(bytes, n)};
    return insn->length;
}

unsigned decode_flow_x86_64(const uint8_t *bytes, size_t n, uint64_t offset, struct cs_isa_insn *insn)
{
    ZydisDecoder d = decoder();
    ZydisDecodedInstruction z;
    if (n == 0 || !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, bytes, n, &z)))
        return unknown(bytes, n, offset, insn);
    start(&z, offset, insn);
    return z.length;
}

static uint64_t register_bit(ZydisRegister reg)
{
    ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    ZyanI8 id = ZydisRegisterGetId(wide);
    switch (ZydisRegisterGetClass(wide)) {
    case ZYDIS_REGCLASS_GPR64:
        return id >= 0 && id < 16 ? CS_ISA_REG_GPR(id) : 0;
    case ZYDIS_REGCLASS_FLAGS:
        return CS_ISA_REG_FLAGS;
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
        return id >= 0 && id < 32 ? CS_ISA_REG_VECTOR(id) : 0;
    case ZYDIS_REGCLASS_MASK:
        return id >= 0 && id < 8 ? CS_ISA_REG_MASK(id) : 0;
    case ZYDIS_REGCLASS_X87:
    case ZYDIS_REGCLASS_MMX:
        return CS_ISA_REG_X87;
    case ZYDIS_REGCLASS_IP:
    case ZYDIS_REGCLASS_INVALID:
        return 0;
    default:
        return wide == ZYDIS_REGISTER_X87CONTROL || wide == ZYDIS_REGISTER_X87STATUS ||
                       wide == ZYDIS_REGISTER_X87TAG
                   ? CS_ISA_REG_X87
                   : CS_ISA_REG_SYSTEM;
    }
}

static uint8_t register_number(ZydisRegister reg)
{
    if (reg == ZYDIS_REGISTER_NONE || reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP)
        return CS_ISA_REG_NONE;
    ZyanI8 id = ZydisRegisterGetId(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg));
    return id < 0 ? CS_ISA_REG_NONE : (uint8_t)id;
}

static void add_memory(struct cs_isa_insn *insn, const ZydisDecodedOperand *o, bool reads, bool writes)
{
    if (insn->n_memory == sizeof insn->memory / sizeof *insn->memory)
        return;
    struct cs_isa_memory *m = &insn->memory[insn->n_memory++];
    *m = (struct cs_isa_memory){
        .displacement = o->mem.disp.has_displacement ? o->mem.disp.value : 0,
        .base = register_number(o->mem.base),
        .index = register_number(o->mem.index),
        .scale = o->mem.scale,
        .width = (uint8_t)(o->size / 8 > 255 ? 0 : o->size / 8),
        .reads = reads,
        .writes = writes,
        .gather = o->mem.type == ZYDIS_MEMOP_TYPE_VSIB,
        .segment = o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS,
        .stack = o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && o->mem.base == ZYDIS_REGISTER_RSP};
    if (o->mem.base == ZYDIS_REGISTER_RIP || o->mem.base == ZYDIS_REGISTER_EIP) {
        m->pc_relative = true;
        m->displacement += (int64_t)(insn->offset + insn->length);
    }
}

/* xor, sub and their vector forms of a register with itself: the result is known, the register isn't read. */
static bool is_zero_idiom(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
    switch (z->mnemonic) {
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_PXOR:
    case ZYDIS_MNEMONIC_XORPS:
    case ZYDIS_MNEMONIC_XORPD:
        return o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && o[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
               o[0].reg.value == o[1].reg.value;
    case ZYDIS_MNEMONIC_VPXOR:
    case ZYDIS_MNEMONIC_VPXORD:
    case ZYDIS_MNEMONIC_VPXORQ:
    case ZYDIS_MNEMONIC_VXORPS:
    case ZYDIS_MNEMONIC_VXORPD:
        for (int i = z->operand_count_visible - 1; i > z->operand_count_visible - 2; i--)
            if (o[i].type != ZYDIS_OPERAND_TYPE_REGISTER || o[i - 1].type != ZYDIS_OPERAND_TYPE_REGISTER ||
                o[i].reg.value != o[i - 1].reg.value)
                return false;
        return true;
    default:
        return false;
    }
}

static void add_operand(struct cs_isa_insn *insn, const ZydisDecodedOperand *o, bool zeroed)
{
    bool reads = (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    bool writes = (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    switch (o->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        insn->reads |= reads && !zeroed ? register_bit(o->reg.value) : 0;
        insn->writes |= writes ? register_bit(o->reg.value) : 0;
        break;
    case ZYDIS_OPERAND_TYPE_MEMORY:
        insn->reads |= register_bit(o->mem.base) | register_bit(o->mem.index);
        if (o->mem.type != ZYDIS_MEMOP_TYPE_AGEN && (reads || writes))
            add_memory(insn, o, reads, writes);
        break;
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        insn->immediate = o->imm.is_signed ? o->imm.value.s : (int64_t)o->imm.value.u;
        insn->has_immediate = true;
        break;
    default:
        break;
    }
}

/* No system call, interrupt, port, timer, random number, or state of the processor: a list of what is neither. */
static bool calculates(const ZydisDecodedInstruction *z)
{
    static const uint8_t yes[ZYDIS_CATEGORY_MAX_VALUE + 1] = {
#define YES(name) [ZYDIS_CATEGORY_##name] = 1
        YES(ADOX_ADCX), YES(AES),        YES(AVX),       YES(AVX2),      YES(AVX2GATHER),    YES(AVX512),
        YES(BINARY),    YES(BITBYTE),    YES(BLEND),     YES(BMI1),      YES(BMI2),          YES(BROADCAST),
        YES(CMOV),      YES(COMPRESS),   YES(COND_BR),   YES(CONFLICT),  YES(CONVERT),       YES(DATAXFER),
        YES(EXPAND),    YES(FCMOV),      YES(FLAGOP),    YES(FMA4),      YES(FP16),          YES(GATHER),
        YES(GFNI),      YES(IFMA),       YES(KMASK),     YES(LOGICAL),   YES(LOGICAL_FP),    YES(LZCNT),
        YES(MMX),       YES(NOP),        YES(PCLMULQDQ), YES(POP),       YES(PREFETCH),      YES(PUSH),
        YES(ROTATE),    YES(SCATTER),    YES(SEMAPHORE), YES(SETCC),     YES(SHA),           YES(SHIFT),
        YES(SSE),       YES(STRINGOP),   YES(STTNI),     YES(UNCOND_BR), YES(VAES),          YES(VBMI2),
        YES(VFMA),      YES(VPCLMULQDQ), YES(WIDENOP),   YES(X87_ALU),   YES(AVX512_BITALG), YES(AVX512_VBMI),
#undef YES
    };
    return yes[z->meta.category] || z->mnemonic == ZYDIS_MNEMONIC_LEA || z->mnemonic == ZYDIS_MNEMONIC_LEAVE;
}

unsigned decode_x86_64(const uint8_t *bytes, size_t n, uint64_t offset, struct cs_isa_insn *insn)
{
    ZydisDecoder d = decoder();
    ZydisDecodedInstruction z;
    ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
    if (n == 0 || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, bytes, n, &z, o)))
        return unknown(bytes, n, offset, insn);
    start(&z, offset, insn);
    bool zeroed = z.operand_count_visible >= 2 && is_zero_idiom(&z, o);
    for (int i = 0; i < z.operand_count; i++)
        add_operand(insn, &o[i], zeroed && i < z.operand_count_visible);
    if (z.cpu_flags) {
        if (z.cpu_flags->tested)
            insn->reads |= CS_ISA_REG_FLAGS;
        if (z.cpu_flags->modified | z.cpu_flags->set_0 | z.cpu_flags->set_1 | z.cpu_flags->undefined)
            insn->writes |= CS_ISA_REG_FLAGS;
    }
    insn->calculates = calculates(&z);
    insn->repeated =
        (z.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
    insn->locked =
        (z.attributes & ZYDIS_ATTRIB_HAS_LOCK) || (z.mnemonic == ZYDIS_MNEMONIC_XCHG && insn->n_memory > 0);
    insn->moves = z.operand_count_visible == 2 && o[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                  o[1].type == ZYDIS_OPERAND_TYPE_REGISTER && o[0].actions == ZYDIS_OPERAND_ACTION_WRITE &&
                  o[1].actions == ZYDIS_OPERAND_ACTION_READ &&
                  strstr(ZydisMnemonicGetString(z.mnemonic), "mov") != NULL &&
                  !strstr(ZydisMnemonicGetString(z.mnemonic), "movs") &&
                  !strstr(ZydisMnemonicGetString(z.mnemonic), "movz");
    return z.length;
}

/* As bytes, which every assembler takes. */
static void text_of_unknown(const uint8_t *bytes, size_t n, char *text, size_t capacity)
{
    const unsigned length = length_of_unknown_x86_64(bytes, n);
    size_t at = (size_t)snprintf(text, capacity, length ? ".byte" : "(bad)");
    for (unsigned i = 0; i < length && at < capacity; i++)
        at += (size_t)snprintf(text + at, capacity - at, "%s 0x%02x", i ? "," : "", bytes[i]);
}

char *decode_text_x86_64(const uint8_t *bytes, size_t n, uint64_t offset, char *text, size_t capacity)
{
    ZydisDecoder d = decoder();
    ZydisFormatter f;
    ZydisDecodedInstruction z;
    ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
    ZydisFormatterInit(&f, ZYDIS_FORMATTER_STYLE_ATT);
    ZydisFormatterSetProperty(&f, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&f, ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&f, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&f, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    if (n == 0 || capacity == 0 || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, bytes, n, &z, o)) ||
        !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&f, &z, o, z.operand_count_visible, text, capacity,
                                                      offset, NULL)))
        text_of_unknown(bytes, n, text, capacity);
    return text;
}
