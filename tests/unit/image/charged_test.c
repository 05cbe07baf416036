/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which instruction a sample is charged to, in code of this test whose labels say where each instruction is. */

#include "image/code.h"
#include "tests/unit/test.h"

#if defined __x86_64__
#define JUMP "jmp"
#elif defined __aarch64__
#define JUMP "b"
#else
#define JUMP "j"
#endif

__asm__(".text\n.globl charged_target\n.type charged_target, %function\n"
        "charged_target: nop\n.Lsecond: nop\n.Lloop: nop\n.Linside: nop\n" JUMP " .Lloop\n.Lafter: nop\n"
        ".size charged_target, . - charged_target\n.section .rodata\n.balign 4\n.globl "
        "charged_places\ncharged_places: "
        ".long 0, .Lsecond - charged_target, .Lloop - charged_target, .Linside - charged_target, .Lafter - "
        "charged_target\n"
        ".text\n");

extern const uint32_t charged_places[5];

TEST(test_charged)
{
    struct cs_image_code *code;
    struct cs_error err = {0};
    assert_int_equal(cs_image_open_file("/proc/self/exe", &code, &err), 0);
    const struct cs_image_procedure *p = cs_image_procedure_named(code, "charged_target", 0, NULL);
    assert_non_null(p);
    const unsigned charged[] = {0, 0, 2, 2,
                                4}; /* the loop is entered by its jump; nothing comes to the last */
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(cs_image_charged(code, p->start + charged_places[i]),
                         p->start + charged_places[charged[i]]);
    assert_int_equal(cs_image_charged(code, 1), 1); /* no procedure there */
    cs_image_close(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_charged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
