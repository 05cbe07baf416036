/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/unwind/template.h"
#include "image/isa/decode.h"

#include <assert.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define TEMPLATE_MIN 8u
#define TEMPLATE_MAX 256u
#define COPIES_MIN 8u
#define TABLE_BLOCKS 256u /* 1 MB of such code in a mapping */

/* Bytes of a copy; 0: these are no copies. */
static size_t copy_bytes(const uint8_t *bytes, size_t n)
{
    for (size_t size = TEMPLATE_MIN; size <= TEMPLATE_MAX && size * COPIES_MIN <= n; size += 8)
        if (memcmp(bytes, bytes + size, n / size * size - size) == 0)
            return memcmp(bytes, bytes + 1, size - 1) ? size : 0; /* all the same: padding */
    return 0;
}

/* What one instruction of x86-64 takes of the stack; -1: it isn't known what it does to it. */
static int taken_by(const uint8_t *at, const struct cs_isa_insn *insn)
{
    int32_t wide;
    if (insn->length == 4 && memcmp(at, "\x48\x83\xec", 3) == 0) /* sub $imm8, %rsp */
        return at[3] < 0x80 ? at[3] : -1;
    if (insn->length == 7 && memcmp(at, "\x48\x81\xec", 3) == 0) {
        memcpy(&wide, at + 3, sizeof wide);
        return wide >= 0 && wide < 1 << 15 ? wide : -1;
    }
    if ((insn->length == 1 && at[0] >> 3 == 0x50 >> 3) ||
        (insn->length == 2 && at[0] == 0x41 && at[1] >> 3 == 0x50 >> 3))
        return 8; /* push */
    return insn->writes & (CS_ISA_REG_GPR(4) | CS_ISA_REG_GPR(5)) ? -1 : 0;
}

#ifdef __x86_64__
#define OWN CS_ISA_X86_64
#else
#define OWN CS_ISA_NONE
#endif

unsigned cs_template_cfa(const uint8_t *bytes, size_t n)
{
    const size_t size = OWN != CS_ISA_NONE ? copy_bytes(bytes, n) : 0;
    unsigned taken = 0;
    for (size_t at = 0; at < size;) {
        struct cs_isa_insn insn;
        if (!cs_isa_decode(OWN, bytes + at, size - at, at, &insn))
            return 0;
        if (insn.flow == CS_ISA_FLOW_CALL)
            return taken + 8;
        const int more = insn.flow == CS_ISA_FLOW_NEXT ? taken_by(bytes + at, &insn) : -1;
        if (more < 0)
            return 0;
        taken += (unsigned)more;
        at += insn.length;
    }
    return 0;
}

struct cs_unwind_header *cs_template_table(unsigned cfa, size_t *n)
{
    assert(cfa > 0);
    const size_t firsts = TABLE_BLOCKS + 1,
                 rows_at = sizeof(struct cs_unwind_header) + firsts * sizeof(__u32),
                 rules_at = rows_at + TABLE_BLOCKS * sizeof(struct cs_unwind_row);
    *n = (rules_at + 2 * sizeof(struct cs_unwind_rule) + 7) & ~(size_t)7;
    char *bytes = calloc(1, *n);
    if (!bytes)
        return NULL;
    struct cs_unwind_header *header = (void *)bytes;
    __u32 *first = (void *)(bytes + sizeof *header);
    struct cs_unwind_row *rows = (void *)(bytes + rows_at);
    struct cs_unwind_rule *rules = (void *)(bytes + rules_at);
    *header = (struct cs_unwind_header){.end = (__u64)TABLE_BLOCKS * CS_UNWIND_BLOCK,
                                        .machine = EM_X86_64,
                                        .n_blocks = TABLE_BLOCKS,
                                        .n_rows = TABLE_BLOCKS,
                                        .n_rules = 2};
    for (unsigned i = 0; i < firsts; i++)
        first[i] = i;
    for (unsigned i = 0; i < TABLE_BLOCKS; i++)
        rows[i].rule = 1;
    rules[1] = (struct cs_unwind_rule){.cfa = CS_UNWIND_SP,
                                       .ra = CS_UNWIND_SAVED,
                                       .fp = CS_UNWIND_KEPT,
                                       .cfa_offset = (__s32)cfa,
                                       .ra_at = -8};
    return header;
}
