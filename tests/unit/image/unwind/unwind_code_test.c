/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows made only from code, against what the compiler described of the same code: the C library's own. With
 * CS_UNWIND_FILES="A B" other files. And small functions as musl and PHP's fibers have them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/file/elf.h"
#include "image/isa/decode.h"
#include "image/unwind/build.h"
#include "image/unwind/code.h"
#include "image/unwind/unwind.h"
#include "tests/unit/test.h"

static struct cs_unwind_header *table_of(const uint8_t *bytes, size_t n, uint64_t from)
{
    struct unwind_build build = {0};
    size_t size;
    assert_int_equal(unwind_build_init(&build, EM_X86_64, from, from + n), 0);
    unwind_code_fill(&build, bytes, n, from);
    struct cs_unwind_header *table = unwind_build_table(&build, &size);
    assert_non_null(table);
    unwind_build_fini(&build);
    return table;
}

static bool is_plain(const struct cs_unwind_rule *rule)
{
    return rule->cfa == CS_UNWIND_SP || rule->cfa == CS_UNWIND_FP;
}

/* FP may be the base for the one and SP for the other: both are then right. */
static void compare_file(const char *path)
{
    struct cs_unwind *unwind;
    struct elf_file *file;
    struct cs_error err;
    size_t n, size;
    assert_int_equal(cs_unwind_open(path, &unwind, &err), 0);
    assert_int_equal(elf_file_open(path, &file, &err), 0);
    const struct elf_section *text = elf_file_section(file, ".text");
    const uint8_t *bytes = elf_file_contents(file, text, &n);
    uint64_t from = text->header.sh_addr;
    struct cs_unwind_header *guessed = table_of(bytes, n, from);
    const struct cs_unwind_header *told = cs_unwind_table(unwind, &size);
    unsigned equal = 0, other = 0, missing = 0, fp_equal = 0;
    struct cs_isa_insn insn;
    for (uint64_t at = 0; at < n; at += insn.length ? insn.length : 1) {
        if (!cs_isa_decode_flow(CS_ISA_X86_64, bytes + at, n - at, from + at, &insn))
            continue;
        const struct cs_unwind_rule *right = cs_unwind_rule_at(told, from + at),
                                    *ours = cs_unwind_rule_at(guessed, from + at);
        if (!is_plain(right) || insn.padding)
            continue;
        if (!is_plain(ours))
            missing++;
        else if (ours->cfa == right->cfa ? ours->cfa_offset != right->cfa_offset
                                         : ours->cfa != CS_UNWIND_FP && right->cfa != CS_UNWIND_FP)
            other++;
        else
            equal++, fp_equal +=
                     ours->fp == right->fp && (ours->fp != CS_UNWIND_SAVED || ours->fp_at == right->fp_at);
        if (getenv("CS_UNWIND_SHOW") && is_plain(ours) && ours->cfa == right->cfa &&
            ours->cfa_offset != right->cfa_offset)
            printf("%lx: %d, is %d\n", (unsigned long)(from + at), ours->cfa_offset, right->cfa_offset);
    }
    print_message("%s: of %u instructions %.2f %% as described, %.2f %% otherwise, %.2f %% not known; frame "
                  "pointer %.2f %%\n",
                  path, equal + other + missing, 100.0 * equal / (equal + other + missing),
                  100.0 * other / (equal + other + missing), 100.0 * missing / (equal + other + missing),
                  100.0 * fp_equal / equal);
    assert_true(equal > 1000);
    assert_true(equal >= 0.9 * (equal + other + missing));
    assert_true(other <= 0.05 * equal);
    free(guessed);
    elf_file_close(file);
    cs_unwind_close(unwind);
}

static void the_c_librarys_rows_come_from_its_code_as_well(void **state)
{
    char *files = getenv("CS_UNWIND_FILES"),
         *copy = strdup(files ? files : "/lib/x86_64-linux-gnu/libc.so.6"), *rest = copy, *path;
    (void)state;
    if (access(strtok_r(copy, " ", &rest), R_OK) != 0) {
        free(copy);
        skip();
        return;
    }
    for (path = copy; path; path = strtok_r(NULL, " ", &rest))
        compare_file(path);
    free(copy);
}

static void a_pushed_register_moves_the_caller_and_its_place_is_known(void **state)
{
    static const uint8_t code[] = {
        0x55,                   /* 0 push %rbp */
        0x53,                   /* 1 push %rbx */
        0x48, 0x83, 0xec, 0x18, /* 2 sub $24, %rsp */
        0x31, 0xed,             /* 6 xor %ebp, %ebp: saved, so no mark */
        0x48, 0x83, 0xc4, 0x18, /* 8 add $24, %rsp */
        0x5b, 0x5d, 0xc3,       /* 12 pop %rbx; pop %rbp; ret */
    };
    (void)state;
    struct cs_unwind_header *table = table_of(code, sizeof code, 0x1000);
    const struct cs_unwind_rule *rule = cs_unwind_rule_at(table, 0x1008);
    assert_int_equal(cs_unwind_rule_at(table, 0x1000)->cfa_offset, 8);
    assert_int_equal(rule->cfa, CS_UNWIND_SP);
    assert_int_equal(rule->cfa_offset, 48);
    assert_int_equal(rule->fp, CS_UNWIND_SAVED);
    assert_int_equal(rule->fp_at, -16);
    assert_int_equal(rule->bx_at, -24);
    assert_int_equal(cs_unwind_rule_at(table, 0x100e)->cfa_offset, 8);
    assert_int_equal(cs_unwind_rule_at(table, 0x100e)->fp, CS_UNWIND_KEPT);
    free(table);
}

static void popping_r12_is_popping(void **state)
{
    static const uint8_t code[] = {
        0x41, 0x54,                   /* 0 push %r12 */
        0x53,                         /* 2 push %rbx */
        0x5b,                         /* 3 pop %rbx */
        0x41, 0x5c,                   /* 4 pop %r12 */
        0xc3,                         /* 6 ret */
        0x5c, 0xc3, 0x90, 0x90, 0x90, /* 7 pop %rsp: that is another stack */
    };
    (void)state;
    struct cs_unwind_header *table = table_of(code, sizeof code, 0x1000);
    assert_int_equal(cs_unwind_rule_at(table, 0x1003)->cfa_offset, 24);
    assert_int_equal(cs_unwind_rule_at(table, 0x1004)->cfa_offset, 16);
    assert_int_equal(cs_unwind_rule_at(table, 0x1006)->cfa_offset, 8);
    assert_int_equal(cs_unwind_rule_at(table, 0x1008)->cfa, CS_UNWIND_NONE);
    free(table);
}

/* As musl's free(), to which a function jumps whose stack isn't known there. */
static void what_is_called_begins_there_whoever_jumps_to_it(void **state)
{
    static const uint8_t code[] = {
        0x53,                         /* 0 push %rbx */
        0x48, 0x83, 0xe4, 0xf0,       /* 1 and $-16, %rsp */
        0x75, 0x09,                   /* 5 jne 16 */
        0xf4,                         /* 7 hlt */
        0xe8, 0x03, 0x00, 0x00, 0x00, /* 8 call 16 */
        0xc3, 0x90, 0x90,             /* 13 ret */
        0x55,                         /* 16 push %rbp */
        0x5d, 0xc3,                   /* 17 pop %rbp; ret */
        0xe8, 0xe8, 0xff, 0xff, 0xff, /* 19 call 0 */
        0xc3,                         /* 24 ret */
    };
    (void)state;
    struct cs_unwind_header *table = table_of(code, sizeof code, 0x1000);
    assert_int_equal(cs_unwind_rule_at(table, 0x1005)->cfa, CS_UNWIND_NONE);
    assert_int_equal(cs_unwind_rule_at(table, 0x1010)->cfa_offset, 8);
    assert_int_equal(cs_unwind_rule_at(table, 0x1011)->cfa_offset, 16);
    free(table);
}

/* As V8's entry to its C++ builtins, which a jump reaches that moved the return address below three words more. */
static void what_makes_a_frame_begins_there_whatever_was_pushed_before(void **state)
{
    static const uint8_t code[] = {
        0x57,                   /* 0 push %rdi */
        0x52,                   /* 1 push %rdx */
        0xff, 0x74, 0x24, 0x10, /* 2 push 16(%rsp): the return address */
        0xeb, 0x02,             /* 6 jmp 10 */
        0x90, 0x90,             /* 8 */
        0x55,                   /* 10 push %rbp */
        0x48, 0x89, 0xe5,       /* 11 mov %rsp, %rbp */
        0x48, 0x83, 0xe4, 0xf0, /* 14 and $-16, %rsp */
        0xff, 0xd3,             /* 18 call *%rbx */
        0xc9, 0xc3,             /* 20 leave; ret */
    };
    (void)state;
    struct cs_unwind_header *table = table_of(code, sizeof code, 0x1000);
    const struct cs_unwind_rule *rule = cs_unwind_rule_at(table, 0x1013);
    assert_int_equal(cs_unwind_rule_at(table, 0x1006)->cfa_offset, 32);
    assert_int_equal(cs_unwind_rule_at(table, 0x100a)->cfa_offset, 8);
    assert_int_equal(rule->cfa, CS_UNWIND_FP);
    assert_int_equal(rule->cfa_offset, 16);
    assert_int_equal(rule->fp_at, -16);
    free(table);
}

static void a_fibers_first_code_is_outermost(void **state)
{
    static const uint8_t code[] = {
        0x48, 0x89, 0xf8, 0xc3,       /* 0 mov %rdi, %rax; ret */
        0x55, 0xff, 0xe3,             /* 4 push %rbp; jmp *%rbx: the fiber's function returns to 7 */
        0x48, 0x31, 0xff,             /* 7 xor %rdi, %rdi */
        0xe8, 0x00, 0x10, 0x00, 0x00, /* 10 call _exit */
        0xf4,                         /* 15 hlt */
    };
    (void)state;
    struct cs_unwind_header *table = table_of(code, sizeof code, 0x1000);
    assert_int_equal(cs_unwind_rule_at(table, 0x1006)->cfa, CS_UNWIND_OUTERMOST);
    assert_int_equal(cs_unwind_rule_at(table, 0x100e)->cfa, CS_UNWIND_OUTERMOST);
    assert_int_equal(cs_unwind_rule_at(table, 0x1000)->cfa, CS_UNWIND_SP);
    free(table);
}

static void a_cleared_frame_pointer_marks_a_threads_beginning(void **state)
{
    static const uint8_t code[] = {
        0x0f, 0x05,       /* 0 syscall: clone */
        0x85, 0xc0,       /* 2 test %eax, %eax */
        0x75, 0x05,       /* 4 jne 11 */
        0x31, 0xed,       /* 6 xor %ebp, %ebp */
        0x41, 0xff, 0xd1, /* 8 call *%r9 */
        0xc3,             /* 11 ret, in the parent */
    };
    (void)state;
    struct cs_unwind_header *table = table_of(code, sizeof code, 0x1000);
    assert_int_equal(cs_unwind_rule_at(table, 0x100a)->cfa, CS_UNWIND_OUTERMOST);
    assert_int_equal(cs_unwind_rule_at(table, 0x1004)->cfa, CS_UNWIND_SP);
    free(table);
}

static void what_isnt_code_does_no_harm(void **state)
{
    uint8_t bytes[4096];
    unsigned long x = 1;
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)((x = x * 6364136223846793005UL + 1442695040888963407UL) >> 56);
        free(table_of(bytes, sizeof bytes - round, 0x1000));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_c_librarys_rows_come_from_its_code_as_well),
        cmocka_unit_test(a_pushed_register_moves_the_caller_and_its_place_is_known),
        cmocka_unit_test(popping_r12_is_popping),
        cmocka_unit_test(what_is_called_begins_there_whoever_jumps_to_it),
        cmocka_unit_test(what_makes_a_frame_begins_there_whatever_was_pushed_before),
        cmocka_unit_test(a_fibers_first_code_is_outermost),
        cmocka_unit_test(a_cleared_frame_pointer_marks_a_threads_beginning),
        cmocka_unit_test(what_isnt_code_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
