/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions that the decoder doesn't know have the length that binutils 2.40 gives them; templates of code are known by
 * their bytes. */
#include "image/isa/decode.h"
#include "image/unwind/template.h"
#include "image/unwind/unwind.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

TEST(instructions_newer_than_the_decoder_have_their_length)
{
    static const struct {
        const char *bytes;
        unsigned length;
    } cases[] = {
        {"\xc4\xe2\x77\x50\xc2", 5},                      /* vpdpbssd %ymm2, %ymm1, %ymm0 */
        {"\xc4\xe2\x77\x50\x84\x24\x00\x01\x00\x00", 10}, /* vpdpbssd 0x100(%rsp), %ymm1, %ymm0 */
        {"\xc4\xe2\x77\x50\x04\xcd\x00\x01\x00\x00", 10}, /* vpdpbssd 0x100(,%rcx,8), %ymm1, %ymm0 */
        {"\xc4\xe2\x61\xe6\x01", 5},                      /* cmpbexadd %ebx, %eax, (%rcx) */
        {"\xc4\xe2\x61\xe6\x41\x10", 6},                  /* cmpbexadd %ebx, %eax, 0x10(%rcx) */
        {"\x0f\x38\xfc\x03", 4},                          /* aadd %eax, (%rbx) */
        {"\x66\x48\x0f\x38\xfc\x05\x10\x00\x00\x00", 10}, /* aand %rax, 0x10(%rip) */
        {"\xc5\xf5\x58\xc2", 4},                          /* vaddpd: known */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t code[16];
        struct cs_isa_insn flow, whole;
        memset(code, 0x90, sizeof code);
        memcpy(code, cases[i].bytes, cases[i].length);
        assert_int_equal(cs_isa_decode_flow(CS_ISA_X86_64, code, sizeof code, 0x1000, &flow),
                         cases[i].length);
        assert_int_equal(flow.flow, CS_ISA_FLOW_NEXT);
        assert_int_equal(cs_isa_decode(CS_ISA_X86_64, code, sizeof code, 0x1000, &whole), cases[i].length);
        assert_int_equal(cs_isa_decode_flow(CS_ISA_X86_64, code, cases[i].length - 1, 0x1000, &flow), 0);
    }
    char text[200];
    const uint8_t one[] = {0x0f, 0x38, 0xfd, 0x03}; /* no CPU has it yet */
    assert_string_equal(cs_isa_decode_text(CS_ISA_X86_64, one, sizeof one, 0, text, sizeof text),
                        ".byte 0x0f, 0x38, 0xfd, 0x03");
    const uint8_t none[] = {0x06, 0x06, 0x06, 0x06};
    assert_string_equal(cs_isa_decode_text(CS_ISA_X86_64, none, sizeof none, 0, text, sizeof text), "(bad)");
}

#ifdef __x86_64__
static unsigned cfa_of(const char *template, size_t n, size_t padded)
{
    uint8_t page[CS_TEMPLATE_BYTES] = {0};
    for (size_t at = 0; at + padded <= sizeof page; at += padded)
        memcpy(page + at, template, n);
    return cs_template_cfa(page, sizeof page);
}

TEST(copies_of_a_template_are_known_by_their_call)
{
    assert_int_equal(cfa_of("\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3", 11, 16), 16); /* CPython's */
    assert_int_equal(cfa_of("\xf3\x0f\x1e\xfa\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3", 15, 32), 16);
    assert_int_equal(cfa_of("\x53\x41\x54\x48\x83\xec\x18\xff\xd0\xc3", 10, 64), 48);
    assert_int_equal(cfa_of("\x55\x48\x89\xe5\xff\xd1\x5d\xc3", 8, 16), 0); /* keeps a frame pointer */
    assert_int_equal(cfa_of("\xc3", 1, 16), 0);                             /* calls nothing */
    assert_int_equal(cfa_of("\x90", 1, 1), 0);                              /* padding */
    uint8_t code[CS_TEMPLATE_BYTES];
    for (size_t i = 0; i < sizeof code; i++)
        code[i] = (uint8_t)(i * 7919 >> 3);
    assert_int_equal(cs_template_cfa(code, sizeof code), 0);
    size_t n;
    struct cs_unwind_header *table = cs_template_table(16, &n);
    for (uint64_t at = 0; at < 1 << 20; at += 1237) {
        const struct cs_unwind_rule *rule = cs_unwind_rule_at(table, at);
        assert_int_equal(rule->cfa, CS_UNWIND_SP);
        assert_int_equal(rule->cfa_offset, 16);
        assert_int_equal(rule->ra_at, -8);
    }
    assert_int_equal(cs_unwind_rule_at(table, 1 << 20)->cfa, CS_UNWIND_NONE);
    free(table);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_newer_than_the_decoder_have_their_length),
#ifdef __x86_64__
        cmocka_unit_test(copies_of_a_template_are_known_by_their_call),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
