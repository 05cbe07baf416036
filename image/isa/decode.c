/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/isa/decode.h"
#include "image/isa/decode_internal.h"

#include <assert.h>
#include <stdio.h>

static const struct {
    const char *name;
    unsigned step;
    unsigned (*decode)(const uint8_t *, size_t, uint64_t, struct cs_isa_insn *);
    unsigned (*flow)(const uint8_t *, size_t, uint64_t, struct cs_isa_insn *);
    char *(*text)(const uint8_t *, size_t, uint64_t, char *, size_t);
    uint64_t (*far_target)(const uint8_t *, size_t, uint64_t);
} isas[] = {
    [CS_ISA_X86_64] = {"x86_64", 1, decode_x86_64, decode_flow_x86_64, decode_text_x86_64, NULL},
    [CS_ISA_AARCH64] = {"aarch64", 4, decode_aarch64, decode_flow_aarch64, decode_text_aarch64, NULL},
    [CS_ISA_RISCV64] = {"riscv64", 2, decode_riscv64, decode_flow_riscv64, decode_text_riscv64,
                        far_target_riscv64},
};

unsigned cs_isa_decode(enum cs_isa isa, const uint8_t *bytes, size_t n, uint64_t offset,
                       struct cs_isa_insn *insn)
{
    if (isas[isa].decode)
        return isas[isa].decode(bytes, n, offset, insn);
    *insn = (struct cs_isa_insn){.offset = offset};
    return 0;
}

unsigned cs_isa_decode_flow(enum cs_isa isa, const uint8_t *bytes, size_t n, uint64_t offset,
                            struct cs_isa_insn *insn)
{
    if (isas[isa].flow)
        return isas[isa].flow(bytes, n, offset, insn);
    *insn = (struct cs_isa_insn){.offset = offset};
    return 0;
}

uint64_t cs_isa_far_target(enum cs_isa isa, const uint8_t *bytes, size_t n, uint64_t offset)
{
    return isas[isa].far_target ? isas[isa].far_target(bytes, n, offset) : 0;
}

uint32_t cs_isa_riscv64_word(const uint8_t *bytes, size_t n, int32_t *immediate)
{
    uint32_t word;
    if (!riscv64_word(bytes, n, &word))
        return 0;
    *immediate = riscv64_immediate(word);
    return word;
}

unsigned cs_isa_step(enum cs_isa isa)
{
    return isas[isa].step ? isas[isa].step : 1;
}

const char *cs_isa_name(enum cs_isa isa)
{
    return isas[isa].name ? isas[isa].name : "";
}

char *cs_isa_decode_text(enum cs_isa isa, const uint8_t *bytes, size_t n, uint64_t offset, char *text,
                         size_t capacity)
{
    assert(capacity > 0);
    if (isas[isa].text)
        return isas[isa].text(bytes, n, offset, text, capacity);
    if (capacity)
        snprintf(text, capacity, "(bad)");
    return text;
}
