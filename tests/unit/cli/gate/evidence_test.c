/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is left of runs' waits without those for an only child, as `sh -c` has. */
#include "cli/gate/evidence.h"
#include "tests/unit/test.h"

#define RUNS 4
#define MS 1e6

/* Each run waited for children, and 10 ms for something else. `only_ms` by run: what the first process waited for its only one. */
static void leave_out(const double only_ms[RUNS], double children_ms, double left_ms[RUNS], bool *one_child)
{
    struct gate_evidence e = {.functions = {.n_runs = RUNS}};
    double off_cpu_ns[RUNS], only_ns[RUNS];
    struct cs_wait_total totals[] = {{"sleep", (uint64_t)(10 * MS), 1},
                                     {"child", (uint64_t)(children_ms * MS), 1}};
    const struct cs_wait_groups groups = {.totals = totals, .n_totals = 2};
    for (size_t r = 0; r < RUNS; r++) {
        off_cpu_ns[r] = (10 + children_ms) * MS;
        only_ns[r] = only_ms[r] * MS;
        assert_int_equal(gate_wait_kinds_add(&e.kinds, r, RUNS, &groups), 0);
    }
    e.off_cpu_ns = off_cpu_ns;
    e.only_child_ns = only_ns;
    gate_leave_out_only_children(&e);
    assert_int_equal(e.kinds.n, 2);
    for (size_t r = 0; r < RUNS; r++) {
        left_ms[r] = e.kinds.at[1].ns[r] / MS;
        assert_true(e.off_cpu_ns[r] == e.kinds.at[0].ns[r] + e.kinds.at[1].ns[r]);
        assert_true(e.kinds.at[0].ns[r] == 10 * MS);
    }
    *one_child = e.one_child;
    gate_wait_kinds_fini(&e.kinds);
}

TEST(a_wait_for_an_only_child_is_left_out)
{
    double left[RUNS];
    bool one_child;
    leave_out((double[]){100, 98, 99, 100}, 100, left, &one_child);
    assert_true(left[0] == 0 && left[1] == 2 && left[2] == 1 && left[3] == 0);
    assert_true(one_child);
}

/* A run in which it can't be seen would differ from the others by that wait. */
TEST(it_is_left_out_in_all_runs_or_in_none)
{
    double left[RUNS];
    bool one_child;
    for (size_t without = 0; without < RUNS; without++) {
        double only[RUNS] = {100, 100, 100, 100};
        only[without] = 0;
        leave_out(only, 100, left, &one_child);
        for (size_t r = 0; r < RUNS; r++)
            assert_true(left[r] == 100);
        assert_false(one_child);
    }
}

/* Then others wait for children, too, and their waits may be the cause. */
TEST(where_more_than_a_twentieth_is_left_it_was_not_the_only_child)
{
    double left[RUNS];
    bool one_child;
    leave_out((double[]){100, 100, 100, 94}, 100, left, &one_child);
    assert_true(left[0] == 0 && left[3] == 6);
    assert_false(one_child);
    leave_out((double[]){100, 100, 100, 96}, 100, left, &one_child);
    assert_true(one_child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_for_an_only_child_is_left_out),
        cmocka_unit_test(it_is_left_out_in_all_runs_or_in_none),
        cmocka_unit_test(where_more_than_a_twentieth_is_left_it_was_not_the_only_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
