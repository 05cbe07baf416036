/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a loop that was run without one thing says something of the program. */
#include "analysis/culprit/removed.h"

#include "tests/unit/test.h"

#include <math.h>

static struct cs_cycle_account_block blocks[2];
static struct cs_cfg cfg = {.n_blocks = 2};
static struct cs_cycle_account account;

/* A loop of 40 cycles by itself that has 90 of 100 samples, without a division. */
static void measure(double in_program, double without)
{
    blocks[0] = (struct cs_cycle_account_block){.attributed = 90, .actual = in_program, .loop = 1};
    blocks[1] = (struct cs_cycle_account_block){.attributed = 10, .actual = 7};
    account = (struct cs_cycle_account){.cfg = &cfg, .blocks = blocks, .samples = 100, .n_loops = 1};
    account.loops[0] = (struct cs_cycle_account_loop){.cycles = 40, .whole = true};
    account.loops[0].without[CS_EXPERIMENT_NO_DIVISION].cycles = without;
}

TEST(what_the_division_costs_is_its_share_of_the_loop_and_of_the_function)
{
    struct cs_culprit_removed r;
    measure(41, 10);
    assert_true(cs_culprit_removed(&account, CS_CAUSE_DIVIDER, &r));
    assert_true(r.what == CS_EXPERIMENT_NO_DIVISION && fabs(r.saves - 0.9 * 0.75) < 1e-9);
    assert_true(cs_culprit_removed(&account, CS_N_CAUSES, &r));
    assert_false(cs_culprit_removed(&account, CS_CAUSE_LOCK, &r)); /* not run */
    assert_false(cs_culprit_removed(&account, CS_CAUSE_DCACHE, &r));
    assert_false(cs_culprit_refuted(&account, CS_CAUSE_DIVIDER));
}

TEST(a_loop_that_takes_another_time_in_the_program_says_nothing)
{
    struct cs_culprit_removed r;
    static const double times[] = {30, 60, (double)NAN};
    for (unsigned k = 0; k < 3; k++) {
        measure(times[k], 40);
        assert_false(cs_culprit_removed(&account, CS_CAUSE_DIVIDER, &r));
        assert_false(cs_culprit_refuted(&account, CS_CAUSE_DIVIDER));
    }
    measure(40, 40);
    account.loops[0].whole = false; /* a block of it is another loop's, too */
    assert_false(cs_culprit_refuted(&account, CS_CAUSE_DIVIDER));
}

TEST(what_a_loop_is_as_fast_without_is_no_cause)
{
    measure(40, 39.2);
    assert_true(cs_culprit_refuted(&account, CS_CAUSE_DIVIDER));
    assert_false(cs_culprit_refuted(&account, CS_CAUSE_DEPENDENCY));
    assert_false(cs_culprit_refuted(&account, CS_N_CAUSES));
    measure(40, 38.5);
    assert_false(cs_culprit_refuted(&account, CS_CAUSE_DIVIDER));
    measure(40, 40);
    blocks[0].attributed = 70; /* the rest may have the cause */
    assert_false(cs_culprit_refuted(&account, CS_CAUSE_DIVIDER));
}

TEST(what_saves_little_is_not_spoken_of_unless_it_is_the_cause)
{
    struct cs_culprit_removed r;
    measure(40, 37);
    assert_true(cs_culprit_removed(&account, CS_CAUSE_DIVIDER, &r));
    assert_false(cs_culprit_removed(&account, CS_N_CAUSES, &r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_division_costs_is_its_share_of_the_loop_and_of_the_function),
        cmocka_unit_test(a_loop_that_takes_another_time_in_the_program_says_nothing),
        cmocka_unit_test(what_a_loop_is_as_fast_without_is_no_cause),
        cmocka_unit_test(what_saves_little_is_not_spoken_of_unless_it_is_the_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
