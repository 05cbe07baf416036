/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analysis/validation/oracle_fit.c: weights of groups from exact counts. */
#include "analysis/validation/oracle_fit.h"
#include "tests/unit/test.h"

#include <math.h>

/* Three groups, the second runs half as many instructions in a unit of time as the first, the third a tenth:
 * their counts are of equally many bursts, the truth is not. */
TEST(weights_are_how_much_oftener_a_place_ran_than_it_was_seen)
{
    const uint32_t group[] = {0, 0, 1, 1, 2, 2}, at[] = {1, 2, 2, 3, 3, 4};
    const double count[] = {1000, 500, 700, 800, 300, 900};
    const double rate[] = {1, 0.5, 0.1};
    double truth[5] = {-1, 0, 0, 0, 0}, weight[3];
    for (size_t i = 0; i < 6; i++)
        truth[at[i]] += 1e6 * rate[group[i]] * count[i];
    assert_int_equal(cs_oracle_fit(&(struct cs_group_counts){group, at, count, 6, 3, 5}, truth, weight), 0);
    assert_true(fabs(weight[1] / weight[0] - 0.5) < 1e-3);
    assert_true(fabs(weight[2] / weight[0] - 0.1) < 1e-3);
    double seen = 0, weighed = 0;
    for (size_t i = 0; i < 6; i++) {
        seen += count[i];
        weighed += weight[group[i]] * count[i];
    }
    assert_true(fabs(weighed / seen - 1) < 1e-9);
}

TEST(a_place_without_a_known_truth_keeps_its_weight)
{
    const uint32_t group[] = {0, 1}, at[] = {1, 2};
    const double count[] = {10, 10}, truth[] = {-1, 3e5, -1};
    double weight[2];
    assert_int_equal(cs_oracle_fit(&(struct cs_group_counts){group, at, count, 2, 2, 3}, truth, weight), 0);
    assert_true(weight[1] == 1);
    assert_true(fabs(weight[0] - 1) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_how_much_oftener_a_place_ran_than_it_was_seen),
        cmocka_unit_test(a_place_without_a_known_truth_keeps_its_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
