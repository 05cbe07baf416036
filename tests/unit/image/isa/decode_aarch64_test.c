/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/schedule/schedule.h"
#include "tests/unit/image/isa/decoded.h"

static struct cs_isa_insn decoded(uint32_t word)
{
    return decoded_by(CS_ISA_AARCH64, word, 4);
}

static struct cs_isa_op operation(uint32_t word)
{
    return operation_by(CS_ISA_AARCH64, word);
}

static void branches_have_their_targets(void **state)
{
    (void)state;
    static const struct branch branches[] = {
        {0x14000002, 4, CS_ISA_FLOW_JUMP, 0x1008, false},   /* b .+8 */
        {0x17ffffff, 4, CS_ISA_FLOW_JUMP, 0xffc, false},    /* b .-4 */
        {0x94000010, 4, CS_ISA_FLOW_CALL, 0x1040, false},   /* bl .+64 */
        {0x54000081, 4, CS_ISA_FLOW_BRANCH, 0x1010, false}, /* b.ne .+16 */
        {0x5400008e, 4, CS_ISA_FLOW_JUMP, 0x1010, false},   /* b.al .+16 */
        {0xb4ffffe1, 4, CS_ISA_FLOW_BRANCH, 0xffc, false},  /* cbz x1, .-4 */
        {0x37f80040, 4, CS_ISA_FLOW_BRANCH, 0x1008, false}, /* tbnz w0, #31, .+8 */
        {0xd61f0000, 4, CS_ISA_FLOW_JUMP, 0, true},         /* br x0 */
        {0xd63f0020, 4, CS_ISA_FLOW_CALL, 0, true},         /* blr x1 */
        {0xd71f0801, 4, CS_ISA_FLOW_JUMP, 0, true},         /* braa x0, x1: the library doesn't know it */
        {0xd65f03c0, 4, CS_ISA_FLOW_RETURN, 0, false},      /* ret */
        {0xd65f0bff, 4, CS_ISA_FLOW_RETURN, 0, false},      /* retaa */
        {0xd4000001, 4, CS_ISA_FLOW_NEXT, 0, false},        /* svc #0 */
        {0xd4207d00, 4, CS_ISA_FLOW_STOP, 0, false},        /* brk #1000 */
        {0x00000000, 4, CS_ISA_FLOW_STOP, 0, false},        /* udf #0 */
        {0x04e00000, 4, CS_ISA_FLOW_NEXT, 0, false},        /* SVE: add z0.d, p0/m, ... */
    };
    branches_go(CS_ISA_AARCH64, branches, sizeof branches / sizeof *branches);
}

static void words_that_are_no_instruction_do_not_decode(void **state)
{
    (void)state;
    struct cs_isa_insn insn;
    const uint32_t words[] = {0x02000000, 0x06123456, 0x00010000};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(cs_isa_decode_flow(CS_ISA_AARCH64, (const uint8_t *)&words[i], 4, 0, &insn), 0);
    assert_int_equal(cs_isa_decode_flow(CS_ISA_AARCH64, (const uint8_t *)words, 3, 0, &insn), 0);
    assert_int_equal(cs_isa_step(CS_ISA_AARCH64), 4);
}

static void operands_are_read_and_written(void **state)
{
    (void)state;
    struct cs_isa_insn add = decoded(0x8b020020); /* add x0, x1, x2 */
    assert_int_equal(add.reads, CS_ISA_REG_GPR(1) | CS_ISA_REG_GPR(2));
    assert_int_equal(add.writes, CS_ISA_REG_GPR(0));
    struct cs_isa_insn subs = decoded(0xf1000400); /* subs x0, x0, #1 */
    assert_true(subs.writes & CS_ISA_REG_FLAGS);
    assert_int_equal(subs.immediate, 1);
    struct cs_isa_insn select = decoded(0x9a821020); /* csel x0, x1, x2, ne */
    assert_true(select.reads & CS_ISA_REG_FLAGS);
    struct cs_isa_insn move = decoded(0xaa1303e0); /* mov x0, x19 */
    assert_true(move.moves);
    assert_int_equal(move.reads, CS_ISA_REG_HIGH(19));
    struct cs_isa_insn fma = decoded(0x1f420c20); /* fmadd d0, d1, d2, d3 */
    assert_int_equal(fma.reads, CS_ISA_REG_VECTOR(1) | CS_ISA_REG_VECTOR(2) | CS_ISA_REG_VECTOR(3));
    assert_int_equal(fma.writes, CS_ISA_REG_VECTOR(0));
}

static void memory_operands_have_base_index_and_width(void **state)
{
    (void)state;
    struct cs_isa_insn load = decoded(0xf8627820); /* ldr x0, [x1, x2, lsl #3] */
    assert_int_equal(load.n_memory, 1);
    assert_int_equal(load.memory[0].base, 1);
    assert_int_equal(load.memory[0].index, 2);
    assert_int_equal(load.memory[0].scale, 8);
    assert_int_equal(load.memory[0].width, 8);
    assert_true(load.memory[0].reads && !load.memory[0].writes);
    struct cs_isa_insn store = decoded(0xb9000be1); /* str w1, [sp, #8] */
    assert_int_equal(store.memory[0].base, 31);
    assert_int_equal(store.memory[0].displacement, 8);
    assert_int_equal(store.memory[0].width, 4);
    assert_true(store.memory[0].writes && !store.memory[0].reads);
    assert_true(store.reads & CS_ISA_REG_GPR(1));
    assert_int_equal(store.writes, 0);
    struct cs_isa_insn pair = decoded(0xa9bf7bfd); /* stp x29, x30, [sp, #-16]! */
    assert_int_equal(pair.memory[0].width, 16);
    struct cs_isa_insn byte = decoded(0x39400001); /* ldrb w1, [x0] */
    assert_int_equal(byte.memory[0].width, 1);
    struct cs_isa_insn literal = decoded(0x58000080); /* ldr x0, .+16 */
    assert_true(literal.memory[0].pc_relative);
    assert_int_equal(literal.memory[0].displacement, 0x1010);
    struct cs_isa_insn exclusive = decoded(0xc8007c41); /* stxr w0, x1, [x2] */
    assert_true(exclusive.locked);
    assert_int_equal(exclusive.memory[0].width, 8);
    assert_true(exclusive.writes & CS_ISA_REG_GPR(0));
}

static void text_has_absolute_targets(void **state)
{
    (void)state;
    text_is(CS_ISA_AARCH64, 0x54000081, 4, "b.ne 0x1010");
    text_is(CS_ISA_AARCH64, 0x37f80040, 4, "tbnz w0, #0x1f, 0x1008");
    text_is(CS_ISA_AARCH64, 0xffffffff, 4, ".inst 0xffffffff");
}

static void kinds_are_told_by_name(void **state)
{
    (void)state;
    assert_true(operation(0x9ac20820).flags & CS_ISA_OP_DIVIDE);     /* udiv x0, x1, x2 */
    assert_true(operation(0x1e621820).flags & CS_ISA_OP_FDIVIDE);    /* fdiv d0, d1, d2 */
    assert_true(operation(0x9b027c20).flags & CS_ISA_OP_MULTIPLY);   /* mul x0, x1, x2 */
    assert_true(operation(0xd5033bbf).flags & CS_ISA_OP_SERIALISE);  /* dmb ish */
    assert_true(operation(0xeb02003f).flags & CS_ISA_OP_FLAGS_ONLY); /* cmp x1, x2 */
    assert_true(operation(0xf9400020).flags & CS_ISA_OP_LOAD);
    assert_true(operation(0x54000081).flags & CS_ISA_OP_BRANCH);
    operation_text_is(CS_ISA_AARCH64, 0x54000081, "b.ne .Lcs");
    operation_text_is(CS_ISA_AARCH64, 0x94000010, "b .Lcs");
    operation_text_is(CS_ISA_AARCH64, 0xd63f0020, "br x1");
}

/* Registers that the scheduler leaves alone on x86-64 (rsp's bit) must not hide a dependency here. */
static void every_register_has_a_bit_of_its_own(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 31; i++) {
        struct cs_isa_op op = operation(0xaa0003e0 | i); /* mov xI, x0 */
        assert_int_equal(__builtin_popcountll(op.writes), 1);
        assert_int_equal(op.writes & CS_ISA_OP_REG_RSP, 0);
    }
    assert_true(operation(0xaa0003e5).writes != operation(0xaa0003e4).writes);
}

/* A chain of loads takes a load's latency a turn, with the model of the core and with the generic one. */
static void schedules_a_chain_of_loads(void **state)
{
    (void)state;
    const uint32_t words[] = {0xf9400000, 0xf1000421, 0x54ffffc1}; /* ldr x0, [x0]; subs x1, x1, #1; b.ne */
    struct cs_isa_op ops[3];
    for (unsigned i = 0; i < 3; i++)
        cs_isa_op_decode(CS_ISA_AARCH64, (const uint8_t *)&words[i], 4, 0x1000 + 4 * i, &ops[i]);
    const struct cs_schedule_path path = {ops, 3, true, false};
    for (int generic = 0; generic < 2; generic++) {
        struct cs_scheduler *s;
        struct cs_error err = {0};
        const char *cpus[] = {"cortex-a57", NULL};
        struct cs_schedule_step steps[3], *into = steps;
        size_t n_generic = 0;
        assert_int_equal(cs_scheduler_open(CS_ISA_AARCH64, cpus, NULL, generic, &s, &err), 0);
        assert_int_equal(cs_scheduler_run(s, &path, 1, &into, &n_generic, &err), 0);
        bool own = strstr(cs_scheduler_name(s), "cortex-a57") != NULL;
        assert_int_equal(n_generic, own ? 0 : 1);
        double turn = steps[0].m + steps[1].m + steps[2].m;
        assert_true(turn > (own ? 3.9 : 4.9) && turn < (own ? 4.1 : 5.1));
        cs_scheduler_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_have_their_targets),
        cmocka_unit_test(words_that_are_no_instruction_do_not_decode),
        cmocka_unit_test(operands_are_read_and_written),
        cmocka_unit_test(memory_operands_have_base_index_and_width),
        cmocka_unit_test(text_has_absolute_targets),
        cmocka_unit_test(kinds_are_told_by_name),
        cmocka_unit_test(every_register_has_a_bit_of_its_own),
        cmocka_unit_test(schedules_a_chain_of_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
