/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What share of bursts is timed: three quarters of what they cost, and hardly any where they tell nothing. */
#include "sampler/burst/timing_share.h"
#include "tests/unit/test.h"

#include <stdlib.h>

/* A program whose timed bursts cost 2 ms and have an interval as often as `chance`; how many of n were timed.
 */
static unsigned run(struct cs_burst_timing_share *timing, unsigned n, double chance)
{
    unsigned timed = 0;
    for (unsigned i = 0; i < n; i++) {
        bool this = rand() < cs_burst_timing_share_next(timing) * RAND_MAX,
             told = this && rand() < chance * RAND_MAX;
        cs_burst_timing_share_learn(timing, this, told, this ? 2000 : 500);
        timed += this;
    }
    return timed;
}

TEST(three_quarters_of_the_cost_go_to_timed_ones)
{
    struct cs_burst_timing_share timing = {0};
    srand(1);
    run(&timing, 100, 0.7);
    assert_in_range(run(&timing, 10000, 0.7), 4000,
                    4600); /* one that costs four times as much: three of seven */
}

TEST(few_where_none_can_be_timed)
{
    struct cs_burst_timing_share timing = {0};
    srand(2);
    run(&timing, 200, 0.01);
    assert_in_range(run(&timing, 10000, 0.01), 150, 500);
}

TEST(as_before_when_they_can_be_again)
{
    struct cs_burst_timing_share timing = {0};
    srand(3);
    run(&timing, 1000, 0);
    run(&timing, 500, 0.9);
    assert_in_range(run(&timing, 10000, 0.9), 4000, 4600);
}

TEST(one_that_fails_now_and_then_goes_on)
{
    struct cs_burst_timing_share timing = {0};
    srand(4);
    run(&timing, 100, 0.3);
    assert_true(run(&timing, 10000, 0.3) > 3500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_quarters_of_the_cost_go_to_timed_ones),
        cmocka_unit_test(few_where_none_can_be_timed),
        cmocka_unit_test(as_before_when_they_can_be_again),
        cmocka_unit_test(one_that_fails_now_and_then_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
