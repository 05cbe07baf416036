/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What share of bursts is paced: three quarters of what they cost, and hardly any where they tell nothing. */
#include "sampler/burst_pacing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* A program whose paced bursts cost 2 ms and have a stretch as often as `chance`; how many of n were paced.
 */
static unsigned run(struct cs_pacing *pacing, unsigned n, double chance)
{
    unsigned paced = 0;
    for (unsigned i = 0; i < n; i++) {
        bool this = rand() < cs_pacing_share(pacing) * RAND_MAX, timed = this && rand() < chance * RAND_MAX;
        cs_pacing_learn(pacing, this, timed, this ? 2000 : 500);
        paced += this;
    }
    return paced;
}

static void three_quarters_of_the_cost_go_to_paced_ones(void **state)
{
    (void)state;
    struct cs_pacing pacing = {0};
    srand(1);
    run(&pacing, 100, 0.7);
    assert_in_range(run(&pacing, 10000, 0.7), 4000,
                    4600); /* one that costs four times as much: three of seven */
}

static void few_where_none_can_be_timed(void **state)
{
    (void)state;
    struct cs_pacing pacing = {0};
    srand(2);
    run(&pacing, 200, 0.01);
    assert_in_range(run(&pacing, 10000, 0.01), 150, 500);
}

static void as_before_when_they_can_be_again(void **state)
{
    (void)state;
    struct cs_pacing pacing = {0};
    srand(3);
    run(&pacing, 1000, 0);
    run(&pacing, 500, 0.9);
    assert_in_range(run(&pacing, 10000, 0.9), 4000, 4600);
}

static void one_that_fails_now_and_then_goes_on(void **state)
{
    (void)state;
    struct cs_pacing pacing = {0};
    srand(4);
    run(&pacing, 100, 0.3);
    assert_true(run(&pacing, 10000, 0.3) > 3500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_quarters_of_the_cost_go_to_paced_ones),
        cmocka_unit_test(few_where_none_can_be_timed),
        cmocka_unit_test(as_before_when_they_can_be_again),
        cmocka_unit_test(one_that_fails_now_and_then_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
