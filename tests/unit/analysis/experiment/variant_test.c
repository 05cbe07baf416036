/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A loop without one thing, and what it has instead. */
#include "analysis/experiment/variant.h"

#include "tests/unit/test.h"

#include <string.h>

static struct piece whole;
static struct cs_isa_op ops[8], out[PIECE_OPS_MAX];
static bool there;

static size_t without(enum cs_experiment_variant what, const uint8_t *bytes, size_t size)
{
    size_t n = 0;
    for (size_t at = 0; at < size; at += ops[n++].length)
        cs_isa_op_decode(CS_ISA_X86_64, bytes + at, size - at, 0x1000 + at, &ops[n]);
    assert_int_equal(piece_make(ops, n, &whole), CS_EXPERIMENT_DONE);
    return variant_make(what, ops, n, &whole, out, &there);
}
#define WITHOUT(what, ...)                                                                                   \
    without(CS_EXPERIMENT_NO_##what, (const uint8_t[]){__VA_ARGS__, 0xeb, 0},                                \
            sizeof(const uint8_t[]){__VA_ARGS__, 0xeb, 0})

static void is(size_t k, const uint8_t *bytes, size_t size)
{
    assert_int_equal(out[k].length, size);
    assert_memory_equal(out[k].bytes, bytes, size);
}
#define IS(k, ...) is(k, (const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__})

TEST(a_lock_prefix_becomes_one_that_does_nothing)
{
    assert_int_equal(WITHOUT(LOCK, 0xf0, 0x48, 0xff, 0x07), 2); /* lock incq (%rdi) */
    IS(0, 0x3e, 0x48, 0xff, 0x07);
    assert_false(out[0].flags & CS_ISA_OP_LOCK);
    assert_true(out[0].flags & CS_ISA_OP_LOAD && out[0].flags & CS_ISA_OP_STORE);
    assert_int_equal(WITHOUT(LOCK, 0x66, 0xf0, 0x0f, 0xc1, 0x0f), 2); /* lock xadd %cx, (%rdi) */
    IS(0, 0x66, 0x3e, 0x0f, 0xc1, 0x0f);
    assert_int_equal(piece_make(out, 2, &whole), CS_EXPERIMENT_DONE);
}

TEST(an_exchange_becomes_a_store_and_a_load)
{
    assert_int_equal(WITHOUT(LOCK, 0x48, 0x87, 0x07), 3); /* xchg %rax, (%rdi) */
    IS(0, 0x48, 0x89, 0x07);
    IS(1, 0x48, 0x8b, 0x07);
    assert_int_equal(WITHOUT(LOCK, 0x48, 0x87, 0xc7), 0); /* of registers: no lock */
    assert_false(there);
}

TEST(a_division_becomes_a_multiplication_of_the_same_operands)
{
    assert_int_equal(WITHOUT(DIVISION, 0x49, 0xf7, 0xf1, 0xf7, 0x3e, 0xf6, 0xf1),
                     6); /* div %r9; idivl (%rsi); div %cl */
    IS(0, 0x89, 0xc2);
    IS(1, 0x49, 0x0f, 0xaf, 0xc1);
    IS(3, 0x0f, 0xaf, 0x06);
    IS(4, 0xf6, 0xe1);
    assert_int_equal(WITHOUT(DIVISION, 0x48, 0xf7, 0x35, 0, 1, 0, 0), 3); /* divq 0x100(%rip) */
    assert_int_equal(out[1].offset + out[1].length, 0x1007);
    assert_int_equal(WITHOUT(DIVISION, 0xf2, 0x0f, 0x5e, 0xc1, 0xc5, 0xfc, 0x5e, 0xca),
                     3); /* divsd; vdivps */
    IS(0, 0xf2, 0x0f, 0x59, 0xc1);
    IS(1, 0xc5, 0xfc, 0x59, 0xca);
    assert_int_equal(WITHOUT(DIVISION, 0xc4, 0xc1, 0x7b, 0x5e, 0xc1, 0x62, 0xf1, 0x7c, 0x48, 0x5e, 0xc2), 3);
    IS(0, 0xc4, 0xc1, 0x7b, 0x59, 0xc1);
    IS(1, 0x62, 0xf1, 0x7c, 0x48, 0x59, 0xc2);
}

/* sqrtps, sqrtsd, vsqrtpd, vsqrtss */
TEST(a_square_root_becomes_a_move_or_a_multiplication)
{
    assert_int_equal(WITHOUT(DIVISION, 0x0f, 0x51, 0xc1, 0xf2, 0x0f, 0x51, 0xc1), 3);
    IS(0, 0x0f, 0x10, 0xc1);
    IS(1, 0xf2, 0x0f, 0x59, 0xc1);
    assert_int_equal(WITHOUT(DIVISION, 0xc5, 0xfd, 0x51, 0xc1, 0xc5, 0xfa, 0x51, 0xc1), 3);
    IS(0, 0xc5, 0xfd, 0x10, 0xc1);
    IS(1, 0xc5, 0xfa, 0x59, 0xc1);
}

TEST(what_has_no_replacement_is_not_run_without_a_part)
{
    assert_int_equal(WITHOUT(DIVISION, 0x48, 0xf7, 0xf1, 0xd8, 0xf1), 0); /* div %rcx; fdiv %st(1), %st */
    assert_true(there);
    assert_int_equal(WITHOUT(DIVISION, 0x48, 0x01, 0xc8), 0);
    assert_false(there);
}

/* imul %rcx, %rax; add $8, %rdi: a counter is no chain. */
TEST(what_is_made_of_the_turn_before_begins_as_a_constant)
{
    assert_int_equal(WITHOUT(CHAIN, 0x48, 0x0f, 0xaf, 0xc1, 0x48, 0x83, 0xc7, 8), 4);
    IS(0, 0xb8, 64, 0, 0, 0); /* mov $64, %eax */
    assert_int_equal(out[0].offset, 0x1000 - 5);
    IS(1, 0x48, 0x0f, 0xaf, 0xc1);
}

TEST(a_chase_begins_at_an_address)
{
    assert_int_equal(WITHOUT(CHAIN, 0x4d, 0x8b, 0x00), 3); /* mov (%r8), %r8 */
    const uint32_t value = (uint32_t)piece_register(&whole, 8);
    assert_true(value >= ORDER_DATA_AT);
    assert_memory_equal(out[0].bytes, ((const uint8_t[]){0x41, 0xb8}), 2);
    assert_memory_equal(out[0].bytes + 2, &value, 4);
}

TEST(a_vector_is_moved_from_one_that_the_loop_does_not_write)
{
    assert_int_equal(WITHOUT(CHAIN, 0xf2, 0x0f, 0x58, 0xc1), 3); /* addsd %xmm1, %xmm0 */
    IS(0, 0x41, 0x0f, 0x28, 0xc7);                               /* movaps %xmm15, %xmm0 */
    assert_int_equal(WITHOUT(CHAIN, 0xc5, 0x3c, 0x58, 0xc1), 3); /* vaddps %ymm1, %ymm8, %ymm8 */
    assert_true(out[0].writes == UINT64_C(1) << 24 && out[0].reads == UINT64_C(1) << 31);
}

/* crc32 %rcx, %rax */
TEST(a_checksum_is_a_chain)
{
    assert_int_equal(WITHOUT(CHAIN, 0xf2, 0x48, 0x0f, 0x38, 0xf1, 0xc1), 3);
    IS(0, 0xb8, 64, 0, 0, 0);
}

/* mov %rcx, %rax; imul %rcx, %rax: nothing of the turn before. */
TEST(independent_turns_have_no_chain)
{
    assert_int_equal(WITHOUT(CHAIN, 0x48, 0x89, 0xc8, 0x48, 0x0f, 0xaf, 0xc1), 0);
    assert_false(there);
}

/* mov %rax, (%r13); mov 8(%r13), %rcx; vaddps -4(%r13), %ymm1, %ymm1; imul $7, (%r13,%r12,2), %edx */
TEST(what_is_stored_nearby_is_loaded_from_elsewhere)
{
    assert_int_equal(WITHOUT(FORWARD, 0x49, 0x89, 0x45, 0, 0x49, 0x8b, 0x4d, 8, 0xc4, 0xc1, 0x74, 0x58, 0x4d,
                             0xfc, 0x43, 0x6b, 0x54, 0x65, 0, 7),
                     5);
    IS(0, 0x49, 0x89, 0x45, 0);
    IS(1, 0x48, 0x8b, 0x8c, 0x24, 0, 6, 0, 0);
    IS(2, 0xc4, 0xe1, 0x74, 0x58, 0x8c, 0x24, 0, 6, 0, 0);
    IS(3, 0x43, 0x6b, 0x54, 0x65, 0, 7); /* by another index */
    assert_int_equal(piece_make(out, 5, &whole), CS_EXPERIMENT_DONE);
    /* mov %ax, (%rdi); imul $NUMBER, (%rdi), %eax */
    assert_int_equal(WITHOUT(FORWARD, 0x66, 0x89, 0x07, 0x69, 0x07, 1, 2, 3, 4), 3);
    IS(1, 0x69, 0x84, 0x24, 0, 6, 0, 0, 1, 2, 3, 4);
    assert_int_equal(WITHOUT(FORWARD, 0x48, 0x01, 0x07), 0); /* add %rax, (%rdi) */
    assert_true(there);
    assert_int_equal(WITHOUT(FORWARD, 0x48, 0x89, 0x07, 0x48, 0x8b, 0x06), 0); /* (%rdi), (%rsi) */
    assert_false(there);
}

/* add %rcx, %rax at 0x1005; mov 0x100(%rip), %rax */
TEST(a_loop_moves_to_the_next_line_of_memory_unless_its_operands_would)
{
    struct cs_isa_op op;
    static const uint8_t add[] = {0x48, 0x01, 0xc8}, relative[] = {0x48, 0x8b, 0x05, 0, 1, 0, 0};
    cs_isa_op_decode(CS_ISA_X86_64, add, sizeof add, 0x1005, &op);
    assert_int_equal(piece_make(&op, 1, &whole), CS_EXPERIMENT_DONE);
    assert_int_equal(variant_align(&op, 1, &whole), CS_EXPERIMENT_DONE);
    assert_int_equal(whole.first + whole.head, 0x1040);
    assert_int_equal(variant_align(&op, 1, &whole), CS_EXPERIMENT_ABSENT);
    cs_isa_op_decode(CS_ISA_X86_64, relative, sizeof relative, 0x1005, &op);
    assert_int_equal(piece_make(&op, 1, &whole), CS_EXPERIMENT_DONE);
    assert_int_equal(variant_align(&op, 1, &whole), CS_EXPERIMENT_FIXED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_prefix_becomes_one_that_does_nothing),
        cmocka_unit_test(an_exchange_becomes_a_store_and_a_load),
        cmocka_unit_test(a_division_becomes_a_multiplication_of_the_same_operands),
        cmocka_unit_test(a_square_root_becomes_a_move_or_a_multiplication),
        cmocka_unit_test(what_has_no_replacement_is_not_run_without_a_part),
        cmocka_unit_test(what_is_made_of_the_turn_before_begins_as_a_constant),
        cmocka_unit_test(a_chase_begins_at_an_address),
        cmocka_unit_test(a_vector_is_moved_from_one_that_the_loop_does_not_write),
        cmocka_unit_test(a_checksum_is_a_chain),
        cmocka_unit_test(independent_turns_have_no_chain),
        cmocka_unit_test(a_loop_moves_to_the_next_line_of_memory_unless_its_operands_would),
        cmocka_unit_test(what_is_stored_nearby_is_loaded_from_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
