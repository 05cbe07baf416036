/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two calls and what is behind them, drawn by hand: the first is returned to from deeper than the return stack. */
#include "analysis/culprit/account/account_model.h"
#include "analysis/culprit/account/cycle_account_internal.h"
#include "analysis/culprit/classify/model.h"
#include "store/table/burst_schemas.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

enum { DEEP_CALL, MOVE, LOAD, BRANCH, AFTER, OTHER_CALL, ADD, ELSEWHERE, N };

static struct cs_cycle_account_insn insns[N];
static struct cs_cfg_instruction at[N];
static struct cs_cfg cfg = {.insns = at, .n_insns = N};
static struct cs_cycle_account a = {.cfg = &cfg, .insns = insns};
static struct cs_culprit_evidence evidence;
static struct accounting x = {.a = &a, .e = &evidence};

static void add(uint64_t offset, uint64_t executions, uint64_t too_deep, uint64_t missed, uint64_t kind)
{
    const uint64_t row[CS_BRANCH_N] = {offset, executions, 5, executions, 0, too_deep, missed, missed, kind};
    assert_int_equal(cs_table_add(evidence.branches, row), 0);
}

/* Of a thousand returns to DEEP_CALL 600 are too deep; those to OTHER_CALL go wrong because stacks were switched. */
static int draw(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N; i++)
        insns[i] =
            (struct cs_cycle_account_insn){.op = {.offset = 0x100 + 5 * i + (i == ELSEWHERE), .length = 5},
                                           .visits = 10,
                                           .step = {.m = 5, .dependency = 4}};
    insns[DEEP_CALL].op.flags = insns[OTHER_CALL].op.flags = CS_ISA_OP_CALL;
    insns[BRANCH].op.flags = CS_ISA_OP_BRANCH;
    evidence.branches = cs_table_open(&cs_schema_branches);
    add(insns[MOVE].op.offset - 1, 1000, 600, 650, 4);
    add(insns[ADD].op.offset - 1, 1000, 0, 900, 4);
    add(0x500, 2000, 600, 1550, 3);
    cs_table_sort(evidence.branches);
    return 0;
}

static int close_table(void **state)
{
    (void)state;
    cs_table_close(evidence.branches);
    return 0;
}

TEST(an_instruction_is_behind_the_call_of_its_run)
{
    uint64_t to;
    assert_int_equal(account_behind_return(&a, DEEP_CALL, &to), 0);
    assert_true(to == insns[MOVE].op.offset);
    assert_int_equal(account_behind_return(&a, LOAD, &to), 2);
    assert_true(to == insns[MOVE].op.offset);
    assert_int_equal(account_behind_return(&a, BRANCH, &to), 3);
    assert_int_equal(account_behind_return(&a, ADD, &to), 1);
}

TEST(behind_a_branch_or_a_gap_it_is_not)
{
    uint64_t to;
    assert_int_equal(account_behind_return(&a, AFTER, &to), CS_MODEL_NEAR_INSNS);
    assert_int_equal(account_behind_return(&a, ELSEWHERE, &to), CS_MODEL_NEAR_INSNS);
}

TEST(returns_are_counted_where_they_go)
{
    uint64_t from;
    struct cs_culprit_branch f = cs_culprit_evidence_returns(&evidence, insns[MOVE].op.offset, &from);
    assert_true(f.seen && fabs(f.too_deep - 0.6) < 1e-9 && fabs(f.missed - 0.05) < 1e-9);
    f = cs_culprit_evidence_returns(&evidence, insns[ADD].op.offset, &from);
    assert_true(f.seen && f.too_deep == 0 && fabs(f.missed - 0.9) < 1e-9);
    assert_false(cs_culprit_evidence_returns(&evidence, insns[LOAD].op.offset, &from).seen);
    assert_false(
        cs_culprit_evidence_returns(&evidence, 0x501, &from).seen); /* the row of the return itself */
}

TEST(latencies_behind_wrong_returns_are_theirs)
{
    account_return_shadows(&x);
    assert_true(fabs(insns[MOVE].step.m - 2.6) < 1e-9 && fabs(insns[MOVE].step.dependency - 1.6) < 1e-9);
    assert_true(fabs(insns[LOAD].step.m - 2.6) < 1e-9);
    assert_true(insns[DEEP_CALL].step.m == 5 && insns[AFTER].step.m == 5 && insns[ADD].step.m == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_instruction_is_behind_the_call_of_its_run, draw, close_table),
        cmocka_unit_test_setup_teardown(behind_a_branch_or_a_gap_it_is_not, draw, close_table),
        cmocka_unit_test_setup_teardown(returns_are_counted_where_they_go, draw, close_table),
        cmocka_unit_test_setup_teardown(latencies_behind_wrong_returns_are_theirs, draw, close_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
