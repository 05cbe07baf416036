/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loops that can run by themselves, made of instructions: pure. */
#include "analysis/experiment/piece.h"

#include "tests/unit/test.h"

#include <string.h>

static struct piece p;
static struct cs_isa_op ops[16];

static size_t decode(size_t n, uint64_t at, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i += ops[n++].length)
        cs_isa_op_decode(CS_ISA_X86_64, bytes + i, size - i, at + i, &ops[n]);
    return n;
}
#define CODE(...)                                                                                            \
    (const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[])                                                  \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

/* mov (%rdi), %rax; add $8, %rdi; cmp %rdx, %rdi; jne back: the comparison goes with its branch. */
TEST(a_loop_ends_in_a_counter_instead_of_its_branch)
{
    static const uint8_t turn[] = {0x48, 0x8b, 0x07, 0x48, 0x83, 0xc7, 8};
    const size_t n =
        decode(0, 0x1234, CODE(0x48, 0x8b, 0x07, 0x48, 0x83, 0xc7, 8, 0x48, 0x39, 0xd7, 0x75, 0xf4));
    assert_int_equal(piece_make(ops, n, &p), CS_EXPERIMENT_DONE);
    assert_int_equal(p.first, 0x1234);
    assert_int_equal(p.counter, 15);
    assert_memory_equal(p.code, turn, sizeof turn);
    assert_memory_equal(p.code + sizeof turn, ((const uint8_t[]){0x49, 0xff, 0xcf, 0x75, (uint8_t)-12}), 5);
    assert_memory_equal(p.code + p.turn_end, ((const uint8_t[]){0xff, 0x25, 0, 0, 0, 0}), 6);
    assert_int_equal(p.addresses, 1 << 7);
}

/* The same loop told from its middle. */
TEST(a_loop_is_the_same_wherever_it_is_told_from)
{
    static struct piece other;
    struct cs_isa_op rotated[4];
    const size_t n =
        decode(0, 0x40, CODE(0x48, 0x8b, 0x07, 0x48, 0x83, 0xc7, 8, 0x48, 0x39, 0xd7, 0x75, 0xf4));
    for (size_t i = 0; i < n; i++)
        rotated[i] = ops[(i + 2) % n];
    assert_int_equal(piece_make(ops, n, &p), CS_EXPERIMENT_DONE);
    assert_int_equal(piece_make(rotated, n, &other), CS_EXPERIMENT_DONE);
    assert_memory_equal(p.code, other.code, sizeof p.code);
}

/* An account marks what a branch fuses with as a branch: dec %rdx before jne keeps its bytes. */
TEST(what_a_branch_fused_with_is_no_branch)
{
    static struct piece other;
    const size_t n = decode(0, 0x118d, CODE(0x48, 0x0f, 0xaf, 0xc1, 0x48, 0xff, 0xca, 0x75, 0xf7));
    assert_int_equal(piece_make(ops, n, &other), CS_EXPERIMENT_DONE);
    ops[1].flags |= CS_ISA_OP_BRANCH;
    assert_int_equal(piece_make(ops, n, &p), CS_EXPERIMENT_DONE);
    assert_memory_equal(p.code, ((const uint8_t[]){0x48, 0x0f, 0xaf, 0xc1, 0x48, 0xff, 0xca}), 7);
    assert_memory_equal(p.code, other.code, sizeof p.code);
}

/* test %eax, %eax; je +2; add; add; jmp back: not taken within, it leads on to what follows either way. */
TEST(a_branch_that_was_not_taken_leads_to_the_next_instruction)
{
    const size_t n = decode(0, 0x1000, CODE(0x85, 0xc0, 0x74, 0x20, 0x01, 0xc8, 0xeb, 0xf8));
    assert_int_equal(piece_make(ops, n, &p), CS_EXPERIMENT_DONE);
    assert_memory_equal(p.code, ((const uint8_t[]){0x85, 0xc0, 0x74, 0, 0x01, 0xc8}), 6);
    assert_true(p.branches);
}

/* test; je 0x1040 (taken) ... 0x1040: add; jmp back: it stays, and so does where it leads. */
TEST(a_branch_that_was_taken_keeps_its_target_and_jumps_there_otherwise)
{
    size_t n = decode(0, 0x1000, CODE(0x85, 0xc0, 0x74, 0x3c));
    n = decode(n, 0x1040, CODE(0x01, 0xc8, 0xeb, 0xbc));
    assert_int_equal(piece_make(ops, n, &p), CS_EXPERIMENT_DONE);
    assert_false(p.packed);
    assert_memory_equal(p.code, ((const uint8_t[]){0x85, 0xc0, 0x74, 0x3c, 0xe9, 0x37, 0, 0, 0}), 9);
    assert_memory_equal(p.code + 0x40, ((const uint8_t[]){0x01, 0xc8, 0x49, 0xff, 0xcf}), 5);
}

/* test; je +2 (taken); 2 bytes that don't run; add; jmp back: there is no room for the jump behind the branch. */
TEST(a_taken_branch_without_room_behind_it_is_packed)
{
    size_t n = decode(0, 0x1000, CODE(0x85, 0xc0, 0x74, 0x02));
    n = decode(n, 0x1006, CODE(0x01, 0xc8, 0xeb, 0xf6));
    assert_int_equal(piece_make(ops, n, &p), CS_EXPERIMENT_DONE);
    assert_true(p.packed);
    assert_memory_equal(p.code, ((const uint8_t[]){0x85, 0xc0, 0x74, 0, 0x01, 0xc8}), 6);
}

/* 14 nops of 10 bytes each: the branch back is a long one. */
TEST(a_long_loop_comes_back_to_its_beginning)
{
    static const uint8_t nop[] = {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0};
    size_t n = 0;
    int32_t back;
    while (n < 14)
        n = decode(n, 0x1000 + 10 * n, nop, sizeof nop);
    assert_int_equal(piece_make(ops, n, &p), CS_EXPERIMENT_DONE);
    assert_int_equal(p.turn_end, 140 + 3 + 6);
    assert_memory_equal(p.code + 143, ((const uint8_t[]){0x0f, 0x85}), 2);
    memcpy(&back, p.code + 145, 4);
    assert_int_equal((int32_t)p.turn_end + back, (int32_t)p.head);
}

/* cmp (%rdi), %rax; jne: what it loads is a part of the turn. */
TEST(a_comparison_that_loads_stays_without_its_branch)
{
    const size_t n = decode(0, 0x1000, CODE(0x48, 0xff, 0xc6, 0x48, 0x3b, 0x07, 0x75, 0xf8));
    assert_int_equal(piece_make(ops, n, &p), CS_EXPERIMENT_DONE);
    assert_int_equal(p.turn_end, 6 + 5);
}

/* mov (%rax), %rcx; mov %rdx, %rax; jmp back: from the second turn on it is what %rdx held. */
TEST(a_register_that_is_an_address_in_the_next_turn_is_one)
{
    const size_t n = decode(0, 0x1000, CODE(0x48, 0x8b, 0x08, 0x48, 0x89, 0xd0, 0xeb, 0xf8));
    assert_int_equal(piece_make(ops, n, &p), CS_EXPERIMENT_DONE);
    assert_int_equal(p.addresses, 1 << 0 | 1 << 2);
}

/* push %rcx; pop %rdx; jmp back */
TEST(what_is_on_the_stack_has_an_address)
{
    const size_t n = decode(0, 0x1000, CODE(0x51, 0x5a, 0xeb, 0xfc));
    assert_int_equal(piece_make(ops, n, &p), CS_EXPERIMENT_DONE);
    assert_int_equal(p.addresses, 1 << 4);
}

/* Two turns of a loop told as one path: an instruction can't stand twice at one place. */
TEST(what_runs_twice_in_a_turn_is_packed)
{
    size_t n = decode(0, 0x2000,
                      CODE(0x48, 0x03, 0x05, 0xf9, 0x0f, 0, 0, 0x75, 0xf7)); /* add 0x3000(%rip), %rax; jne */
    n = decode(n, 0x2000, CODE(0x48, 0x03, 0x05, 0xf9, 0x0f, 0, 0, 0x75, 0xf7));
    assert_int_equal(piece_make(ops, n, &p), CS_EXPERIMENT_DONE);
    assert_true(p.packed);
    int32_t first, second; /* both mean 0x3000 */
    const size_t head = p.head;
    memcpy(&first, p.code + head + 3, 4);
    memcpy(&second, p.code + head + 9 + 3, 4);
    assert_int_equal(p.first + head + 7 + (uint64_t)first, 0x3000);
    assert_int_equal(p.first + head + 9 + 7 + (uint64_t)second, 0x3000);
}

TEST(an_address_that_was_loaded_is_seen)
{
    size_t n =
        decode(0, 0x1000,
               CODE(0x48, 0x8b, 0x07, 0x48, 0x8b, 0x18, 0xeb, 0xf8)); /* mov (%rdi), %rax; mov (%rax), %rbx */
    assert_int_equal(piece_make(ops, n, &p), CS_EXPERIMENT_DONE);
    assert_true(p.loaded_address);
    n = decode(0, 0x1000,
               CODE(0x0f, 0xb6, 0x0f, 0x03, 0x04, 0x8e, 0xeb,
                    0xf8)); /* movzbl (%rdi), %ecx; add (%rsi,%rcx,4), %eax */
    assert_int_equal(piece_make(ops, n, &p), CS_EXPERIMENT_DONE);
    assert_false(p.loaded_address);
    assert_int_equal(p.grain, 1);
    assert_int_equal(p.addresses, 1 << 6 | 1 << 7);
}

static enum cs_experiment_why make(const uint8_t *bytes, size_t size)
{
    return piece_make(ops, decode(0, 0x1000, bytes, size), &p);
}

TEST(each_reason_has_its_name)
{
    assert_int_equal(make(CODE(0xe8, 0, 0, 0, 0, 0x90, 0xeb, 0xf8)), CS_EXPERIMENT_CALL);
    assert_int_equal(make(CODE(0xff, 0xe0, 0x90, 0xeb, 0xfb)), CS_EXPERIMENT_CALL); /* jmp *%rax */
    assert_int_equal(make(CODE(0x0f, 0x05, 0xeb, 0xfc)), CS_EXPERIMENT_SYSTEM);
    assert_int_equal(make(CODE(0x90, 0xe2, 0x00, 0x90, 0xeb, 0xfa)), CS_EXPERIMENT_SYSTEM); /* loop */
    assert_int_equal(make(CODE(0x90, 0xe3, 0x00, 0x90, 0xeb, 0xfa)), CS_EXPERIMENT_SYSTEM); /* jrcxz */
    assert_int_equal(make(CODE(0x64, 0x48, 0x8b, 0x07, 0xeb, 0xfa)), CS_EXPERIMENT_SEGMENT);
    assert_int_equal(make(CODE(0x06, 0xeb, 0xfd)), CS_EXPERIMENT_CODE);
    assert_int_equal(make(CODE(0xeb, 0xfe)), CS_EXPERIMENT_LONG);
    assert_int_equal(piece_make(ops, 0, &p), CS_EXPERIMENT_LONG);
    assert_int_equal(piece_make(ops, PIECE_OPS_MAX + 1, &p), CS_EXPERIMENT_LONG);
}

/* One instruction a register, all sixteen. */
TEST(a_loop_that_uses_all_registers_cannot_be_counted)
{
    uint8_t bytes[16 * 3];
    for (unsigned r = 0; r < 16; r++)
        memcpy(bytes + 3 * (size_t)r, (const uint8_t[]){r > 7 ? 0x49 : 0x48, 0xff, (uint8_t)(0xc0 + (r & 7))},
               3);
    assert_int_equal(make(bytes, sizeof bytes), CS_EXPERIMENT_REGISTER);
    assert_int_equal(make(bytes, sizeof bytes - 3), CS_EXPERIMENT_DONE);
    assert_int_equal(p.counter, 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_ends_in_a_counter_instead_of_its_branch),
        cmocka_unit_test(what_a_branch_fused_with_is_no_branch),
        cmocka_unit_test(a_loop_is_the_same_wherever_it_is_told_from),
        cmocka_unit_test(a_branch_that_was_not_taken_leads_to_the_next_instruction),
        cmocka_unit_test(a_branch_that_was_taken_keeps_its_target_and_jumps_there_otherwise),
        cmocka_unit_test(a_taken_branch_without_room_behind_it_is_packed),
        cmocka_unit_test(a_long_loop_comes_back_to_its_beginning),
        cmocka_unit_test(a_comparison_that_loads_stays_without_its_branch),
        cmocka_unit_test(a_register_that_is_an_address_in_the_next_turn_is_one),
        cmocka_unit_test(what_is_on_the_stack_has_an_address),
        cmocka_unit_test(what_runs_twice_in_a_turn_is_packed),
        cmocka_unit_test(an_address_that_was_loaded_is_seen),
        cmocka_unit_test(each_reason_has_its_name),
        cmocka_unit_test(a_loop_that_uses_all_registers_cannot_be_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
