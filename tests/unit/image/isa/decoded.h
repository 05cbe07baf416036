/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of decoders that are given words share: every instruction lies at 0x1000. */
#ifndef CS_TESTS_UNIT_IMAGE_ISA_DECODED_H
#define CS_TESTS_UNIT_IMAGE_ISA_DECODED_H

#include "image/isa/decode.h"
#include "image/isa/semantics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct cs_isa_insn decoded_by(enum cs_isa isa, uint32_t word, unsigned length)
{
    struct cs_isa_insn insn;
    assert_int_equal(cs_isa_decode(isa, (const uint8_t *)&word, length, 0x1000, &insn), length);
    return insn;
}

static struct cs_isa_op operation_by(enum cs_isa isa, uint32_t word)
{
    struct cs_isa_op op;
    cs_isa_op_decode(isa, (const uint8_t *)&word, sizeof word, 0x1000, &op);
    return op;
}

static void operation_text_is(enum cs_isa isa, uint32_t word, const char *wanted)
{
    struct cs_isa_op op = operation_by(isa, word);
    char text[CS_ISA_OP_TEXT];
    cs_isa_op_text(isa, &op, text);
    assert_string_equal(text, wanted);
}

static void text_is(enum cs_isa isa, uint32_t word, unsigned length, const char *wanted)
{
    char text[64];
    assert_string_equal(cs_isa_decode_text(isa, (const uint8_t *)&word, length, 0x1000, text, sizeof text),
                        wanted);
}

struct branch {
    uint32_t word;
    unsigned length;
    enum cs_isa_flow flow;
    uint64_t target;
    bool indirect;
};

static void branches_go(enum cs_isa isa, const struct branch *branches, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct cs_isa_insn insn = decoded_by(isa, branches[i].word, branches[i].length);
        assert_int_equal(insn.flow, branches[i].flow);
        assert_int_equal(insn.target, branches[i].target);
        assert_int_equal(insn.indirect, branches[i].indirect);
    }
}

#endif
