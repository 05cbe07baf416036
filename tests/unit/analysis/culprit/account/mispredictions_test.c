/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A branch, and an instruction behind it at which its mispredictions show, drawn by hand. */
#include "analysis/culprit/account/cycle_account_internal.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

enum { BRANCH, BEHIND, N };

static struct cs_cycle_account a;
static struct cs_cycle_account_insn insns[N];
static struct cs_culprit_classification classifications[N + 1];

static bool near(double x, double y)
{
    return fabs(x - y) < 1e-9;
}

/* The branch runs twice as often. It has a stall of 2 cycles of its own. */
static void draw(void)
{
    static struct cs_cfg_instruction at[N] = {{.offset = 0x10, .length = 2}, {.offset = 0x12, .length = 3}};
    static struct cs_cfg cfg = {.insns = at, .n_insns = N};
    static struct cs_cycle_account_block blocks[1];
    memset(classifications, 0, sizeof classifications);
    classifications[BRANCH] = (struct cs_culprit_classification){
        .n = 1, .stall = 2, .suspects[0] = {.cause = CS_CAUSE_DEPENDENCY, .share = 2}};
    classifications[BEHIND] = (struct cs_culprit_classification){
        .n = 2,
        .stall = 7,
        .suspects = {
            {.cause = CS_CAUSE_MISPREDICT, .share = 6, .high = 8, .responsible = 0x10, .shown_near = true},
            {.cause = CS_CAUSE_ICACHE, .share = 1}}};
    for (int i = 0; i < N; i++)
        insns[i] = (struct cs_cycle_account_insn){
            .visits = i == BRANCH ? 20 : 10, .cycles = 10, .classification = &classifications[i]};
    a = (struct cs_cycle_account){
        .cfg = &cfg, .insns = insns, .blocks = blocks, .classifications = classifications};
}

TEST(what_shows_behind_a_branch_is_its_stall)
{
    draw();
    account_move_mispredictions(&a, N);
    const struct cs_culprit_classification *branch = insns[BRANCH].classification,
                                           *behind = insns[BEHIND].classification;
    assert_int_equal(branch->n, 2);
    assert_int_equal(branch->suspects[0].cause, CS_CAUSE_MISPREDICT); /* the larger share */
    assert_true(near(branch->suspects[0].share, 3) && near(branch->suspects[0].high, 4));
    assert_true(near(branch->stall, 5) && near(insns[BRANCH].cycles, 13));
    assert_int_equal(behind->n, 1);
    assert_int_equal(behind->suspects[0].cause, CS_CAUSE_ICACHE);
    assert_true(near(behind->stall, 1) && near(insns[BEHIND].cycles, 4));
}

TEST(a_branch_without_a_stall_of_its_own_gets_one)
{
    static const struct cs_culprit_classification empty;
    draw();
    classifications[0] = classifications[BEHIND];
    memset(&classifications[1], 0, sizeof classifications[1]);
    insns[BEHIND].classification = &classifications[0];
    insns[BRANCH].classification = &empty;
    account_move_mispredictions(&a, 1);
    assert_int_equal(insns[BRANCH].classification->n, 1);
    assert_true(near(insns[BRANCH].classification->stall, 3));
}

static void nothing_moved(void)
{
    account_move_mispredictions(&a, N);
    assert_int_equal(insns[BEHIND].classification->n, 2);
    assert_true(near(insns[BEHIND].classification->stall, 7) && near(insns[BEHIND].cycles, 10));
    assert_true(near(insns[BRANCH].classification->stall, 2) && near(insns[BRANCH].cycles, 10));
}

TEST(what_shows_far_behind_stays_there)
{
    draw();
    classifications[BEHIND].suspects[0].shown_near = false;
    nothing_moved();
}

TEST(what_no_known_branch_answers_for_stays_there)
{
    draw();
    classifications[BEHIND].suspects[0].responsible = 0x500;
    nothing_moved();
    draw();
    insns[BRANCH].visits = 0;
    nothing_moved();
}

TEST(a_branch_with_as_many_suspects_as_fit_gets_no_more)
{
    draw();
    classifications[BRANCH].n = CS_CULPRIT_SUSPECTS_MAX;
    nothing_moved();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_shows_behind_a_branch_is_its_stall),
        cmocka_unit_test(a_branch_without_a_stall_of_its_own_gets_one),
        cmocka_unit_test(what_shows_far_behind_stays_there),
        cmocka_unit_test(what_no_known_branch_answers_for_stays_there),
        cmocka_unit_test(a_branch_with_as_many_suspects_as_fit_gets_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
