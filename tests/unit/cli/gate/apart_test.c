/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs that didn't take turns, on a machine that may be slower than it was. */
#include "cli/gate/apart.h"
#include "tests/unit/test.h"

#include <math.h>

static enum gate_verdict judged(enum gate_verdict verdict, double change, double machine, bool in_turn)
{
    struct gate_check pace = {.known = true, .verdict = verdict};
    pace.estimate = (struct gate_estimate){.change = change, .machine = machine, .in_turn = in_turn};
    gate_apart_doubt(&pace);
    return pace.verdict;
}

/* As a shared core did: +20 % for a program of equal code, +6 % for the loop. */
TEST(a_growth_below_double_may_be_a_neighbours)
{
    assert_int_equal(judged(GATE_SLOWER, 0.2, 0.06, false), GATE_CANT_TELL);
    assert_int_equal(judged(GATE_SLOWER, 0.2, (double)NAN, false), GATE_CANT_TELL);
    assert_int_equal(judged(GATE_FASTER, -0.3, -0.06, false), GATE_CANT_TELL);
    assert_int_equal(judged(GATE_SLOWER, 0.2, 0.06, true), GATE_SLOWER);
    assert_int_equal(judged(GATE_SLOWER, 1.2, 0.06, false), GATE_SLOWER);
    assert_int_equal(judged(GATE_FASTER, -0.6, 0.06, false), GATE_FASTER);
}

TEST(the_loop_speaks_for_a_machine_that_did_not_change)
{
    assert_int_equal(judged(GATE_SLOWER, 0.2, 0.005, false), GATE_SLOWER);
    assert_int_equal(judged(GATE_SLOWER, 0.1, 0.005, false), GATE_CANT_TELL);
    assert_int_equal(judged(GATE_SAME, 0.001, 0.005, false), GATE_SAME);
    assert_int_equal(judged(GATE_SAME, 0.001, 0.02, false), GATE_CANT_TELL);
}

/* Eight runs of each: in turn, or all of the base first. */
TEST(what_all_functions_share_may_be_more_of_runs_apart)
{
    for (unsigned apart = 0; apart < 2; apart++) {
        struct gate_run run[16];
        for (unsigned r = 0; r < 16; r++)
            run[r] = (struct gate_run){apart ? r >= 8 : (r + 1) / 2 % 2, r, 1 + 0.01 * (r % 3), (double)NAN};
        assert_true((gate_apart_factor(run, 16) > 1.9) == apart);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_growth_below_double_may_be_a_neighbours),
        cmocka_unit_test(the_loop_speaks_for_a_machine_that_did_not_change),
        cmocka_unit_test(what_all_functions_share_may_be_more_of_runs_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
