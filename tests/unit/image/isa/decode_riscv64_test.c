/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/image/isa/decoded.h"

static struct cs_isa_insn decoded(uint32_t word, unsigned length)
{
    return decoded_by(CS_ISA_RISCV64, word, length);
}

static struct cs_isa_op operation(uint32_t word)
{
    return operation_by(CS_ISA_RISCV64, word);
}

static void branches_have_their_targets(void **state)
{
    (void)state;
    static const struct branch branches[] = {
        {0x0080006f, 4, CS_ISA_FLOW_JUMP, 0x1008, false},   /* j .+8 */
        {0xffdff06f, 4, CS_ISA_FLOW_JUMP, 0xffc, false},    /* j .-4 */
        {0x040000ef, 4, CS_ISA_FLOW_CALL, 0x1040, false},   /* jal .+64 */
        {0x040002ef, 4, CS_ISA_FLOW_CALL, 0x1040, false},   /* jal t0, .+64 */
        {0x00b51863, 4, CS_ISA_FLOW_BRANCH, 0x1010, false}, /* bne a0, a1, .+16 */
        {0xfe0558e3, 4, CS_ISA_FLOW_BRANCH, 0xff0, false},  /* bgez a0, .-16 */
        {0x00078067, 4, CS_ISA_FLOW_JUMP, 0, true},         /* jr a5 */
        {0x000780e7, 4, CS_ISA_FLOW_CALL, 0, true},         /* jalr a5 */
        {0x00008067, 4, CS_ISA_FLOW_RETURN, 0, false},      /* ret */
        {0x00028067, 4, CS_ISA_FLOW_RETURN, 0, false},      /* jr t0, the other link register */
        {0x00000073, 4, CS_ISA_FLOW_NEXT, 0, false},        /* ecall */
        {0x00100073, 4, CS_ISA_FLOW_STOP, 0, false},        /* ebreak */
        {0xc0001073, 4, CS_ISA_FLOW_STOP, 0, false},        /* unimp */
        {0x02008057, 4, CS_ISA_FLOW_NEXT, 0, false},        /* a vector instruction: not known here */
        {0x0000a001, 2, CS_ISA_FLOW_JUMP, 0x1000, false},   /* c.j . */
        {0x0000c111, 2, CS_ISA_FLOW_BRANCH, 0x1004, false}, /* c.beqz a0, .+4 */
        {0x0000fd75, 2, CS_ISA_FLOW_BRANCH, 0xffc, false},  /* c.bnez a0, .-4 */
        {0x00008782, 2, CS_ISA_FLOW_JUMP, 0, true},         /* c.jr a5 */
        {0x00009782, 2, CS_ISA_FLOW_CALL, 0, true},         /* c.jalr a5 */
        {0x00008082, 2, CS_ISA_FLOW_RETURN, 0, false},      /* c.jr ra */
        {0x00009002, 2, CS_ISA_FLOW_STOP, 0, false},        /* c.ebreak */
        {0x00000000, 2, CS_ISA_FLOW_STOP, 0, false},        /* c.unimp */
    };
    branches_go(CS_ISA_RISCV64, branches, sizeof branches / sizeof *branches);
}

static void what_is_no_instruction_does_not_decode(void **state)
{
    (void)state;
    struct cs_isa_insn insn;
    /* reserved compressed ones (addi4spn of 0, lui of 0, lwsp to x0, jr x0), and the start of one of six bytes */
    const uint16_t halves[] = {0x0004, 0x6501, 0x4002, 0x8002, 0x001f};
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        const uint16_t bytes[4] = {halves[i]};
        assert_int_equal(cs_isa_decode_flow(CS_ISA_RISCV64, (const uint8_t *)bytes, 8, 0, &insn), 0);
    }
    const uint32_t nop = 0x13;
    assert_int_equal(cs_isa_decode_flow(CS_ISA_RISCV64, (const uint8_t *)&nop, 3, 0, &insn), 0);
    assert_int_equal(cs_isa_decode_flow(CS_ISA_RISCV64, (const uint8_t *)&nop, 1, 0, &insn), 0);
    assert_int_equal(cs_isa_step(CS_ISA_RISCV64), 2);
}

static void operands_are_read_and_written(void **state)
{
    (void)state;
    struct cs_isa_insn add = decoded(0x00c58533, 4); /* add a0, a1, a2 */
    assert_int_equal(add.reads, CS_ISA_REG_GPR(11) | CS_ISA_REG_GPR(12));
    assert_int_equal(add.writes, CS_ISA_REG_GPR(10));
    struct cs_isa_insn zero = decoded(0x00000f93, 4); /* li t6, 0: x0 is no register, x31 has its bit */
    assert_int_equal(zero.reads, 0);
    assert_int_equal(zero.writes, CS_ISA_REG_GPR(0));
    assert_true(zero.has_immediate && zero.immediate == 0);
    struct cs_isa_insn move = decoded(0x852e, 2); /* c.mv a0, a1 */
    assert_true(move.moves);
    assert_int_equal(move.reads, CS_ISA_REG_GPR(11));
    struct cs_isa_insn load = decoded(0x6542, 2); /* c.ldsp a0, 16(sp) */
    assert_int_equal(load.n_memory, 1);
    assert_int_equal(load.memory[0].base, 2);
    assert_int_equal(load.memory[0].displacement, 16);
    assert_int_equal(load.memory[0].width, 8);
    assert_true(load.memory[0].reads && !load.memory[0].writes);
    struct cs_isa_insn store = decoded(0xfea42c23, 4); /* sw a0, -8(s0) */
    assert_int_equal(store.memory[0].displacement, -8);
    assert_int_equal(store.memory[0].width, 4);
    assert_true(store.memory[0].writes && !store.memory[0].reads);
    assert_int_equal(store.writes, 0);
    struct cs_isa_insn fused = decoded(0x6ac5f543, 4); /* fmadd.d fa0, fa1, fa2, fa3 */
    assert_int_equal(fused.reads, CS_ISA_REG_VECTOR(11) | CS_ISA_REG_VECTOR(12) | CS_ISA_REG_VECTOR(13));
    struct cs_isa_insn convert = decoded(0xd2058553, 4); /* fcvt.d.w fa0, a1 */
    assert_int_equal(convert.reads, CS_ISA_REG_GPR(11));
    assert_int_equal(convert.writes, CS_ISA_REG_VECTOR(10));
    struct cs_isa_insn swap = decoded(0x0ec5a52f, 4); /* amoswap.w.aqrl a0, a2, (a1) */
    assert_true(swap.locked && swap.memory[0].reads && swap.memory[0].writes && swap.memory[0].width == 4);
}

static void far_calls_have_their_target(void **state)
{
    (void)state;
    const uint32_t call[] = {0x00001097, 0xff8080e7}; /* auipc ra, 1; jalr -8(ra) */
    const uint32_t other[] = {0x00001317, 0xff8080e7};
    assert_int_equal(cs_isa_far_target(CS_ISA_RISCV64, (const uint8_t *)call, 8, 0x1000), 0x1ff8);
    assert_int_equal(cs_isa_far_target(CS_ISA_RISCV64, (const uint8_t *)other, 8, 0x1000), 0);
    assert_int_equal(cs_isa_far_target(CS_ISA_RISCV64, (const uint8_t *)call, 6, 0x1000), 0);
}

static void kinds_are_told(void **state)
{
    (void)state;
    assert_true(operation(0x02c5c533).flags & CS_ISA_OP_DIVIDE);    /* div */
    assert_true(operation(0x02c58533).flags & CS_ISA_OP_MULTIPLY);  /* mul */
    assert_true(operation(0x1ac5f553).flags & CS_ISA_OP_FDIVIDE);   /* fdiv.d */
    assert_true(operation(0x0ff0000f).flags & CS_ISA_OP_SERIALISE); /* fence */
    assert_true(operation(0x00000073).flags & CS_ISA_OP_SYSCALL);   /* ecall */
    struct cs_isa_op branch = operation(0x00b51863);
    assert_true(branch.flags & CS_ISA_OP_BRANCH);
    operation_text_is(CS_ISA_RISCV64, 0x00b51863, "bne a0,a1, .Lcs");
    operation_text_is(CS_ISA_RISCV64, 0x040000ef, "j .Lcs");
    assert_true(operation(0x0000001f).flags & CS_ISA_OP_INVALID);
}

static void text_has_absolute_targets(void **state)
{
    (void)state;
    char text[4];
    const uint32_t branch = 0x00b51863;
    text_is(CS_ISA_RISCV64, branch, 4, "bne a0,a1,0x1010");
    text_is(CS_ISA_RISCV64, 0x02008057, 4, ".4byte 0x02008057"); /* not known */
    text_is(CS_ISA_RISCV64, 0xfd75, 2, "bnez a0,0xffc");
    text_is(CS_ISA_RISCV64, 0x1f, 4, "(bad)"); /* longer */
    assert_string_equal(
        cs_isa_decode_text(CS_ISA_RISCV64, (const uint8_t *)&branch, 4, 0x1000, text, sizeof text), "bne");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_have_their_targets),
        cmocka_unit_test(what_is_no_instruction_does_not_decode),
        cmocka_unit_test(operands_are_read_and_written),
        cmocka_unit_test(far_calls_have_their_target),
        cmocka_unit_test(kinds_are_told),
        cmocka_unit_test(text_has_absolute_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
