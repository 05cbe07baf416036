/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often bursts are made, and how long: against programs whose bursts cost what is ours to say. */
#include "sampler/burst/budget.h"
#include "sampler/burst/burst_length.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Share of the target's time that bursts take once their cost is known. */
static double taken(double share, double cost_us, double trigger_s)
{
    struct cs_burst_budget budget;
    cs_burst_budget_begin(&budget, share, 0, false);
    for (unsigned i = 0; i < 500; i++)
        cs_burst_budget_learn(&budget, cost_us, share, trigger_s);
    return (budget.chance * cost_us * 1e-6 + trigger_s) / budget.period_s;
}

static void bursts_take_their_budget_whatever_they_cost(void **state)
{
    (void)state;
    assert_true(fabs(taken(0.005, 1000, 0) - 0.005) <= 1e-6);
    assert_true(fabs(taken(0.005, 3000, 0) - 0.005) <= 1e-6);
    assert_true(fabs(taken(0.03, 3000, 5e-6) - 0.03) <= 1e-6); /* triggers are paid from it, too */
}

static void cheap_bursts_are_made_at_every_trigger_and_dear_ones_now_and_then(void **state)
{
    (void)state;
    struct cs_burst_budget budget;
    cs_burst_budget_begin(&budget, 0.005, 0, false);
    cs_burst_budget_learn(&budget, 1, 0.005, 0);
    assert_true(fabs(budget.chance - 1) <= 0);
    for (unsigned i = 0; i < 500; i++)
        cs_burst_budget_learn(&budget, 1e9, 0.005, 0);
    assert_true(budget.chance > 0 && budget.chance < 0.1);
}

static void a_rate_that_was_asked_for_stays(void **state)
{
    (void)state;
    struct cs_burst_budget budget;
    cs_burst_budget_begin(&budget, 0.005, 100, true);
    cs_burst_budget_learn(&budget, 1e6, 0.005, 0);
    assert_true(fabs(budget.chance / budget.period_s - 100) <= 1e-6);
    assert_true(fabs(budget.cost_us - 1e6) <= 1e-3);
}

static void the_cost_follows_the_last_bursts(void **state)
{
    (void)state;
    struct cs_burst_budget budget;
    cs_burst_budget_begin(&budget, 0.005, 0, false);
    cs_burst_budget_learn(&budget, 100, 0.005, 0);
    cs_burst_budget_learn(&budget, 300, 0.005, 0);
    assert_true(fabs(budget.cost_us - 200) <= 1e-6); /* a mean, while there are few */
    for (unsigned i = 0; i < 500; i++)
        cs_burst_budget_learn(&budget, 700, 0.005, 0);
    assert_true(fabs(budget.cost_us - 700) <= 1);
}

static void first_bursts_of_a_command_may_cost_more_and_no_later_ones(void **state)
{
    (void)state;
    struct cs_burst_budget budget, plain;
    cs_burst_budget_begin(&budget, 0.005, 0, false);
    cs_burst_budget_begin(&plain, 0.005, 0, false);
    budget.eager = 20;
    for (unsigned i = 0; i < 20; i++) {
        cs_burst_budget_learn(&budget, 4000, 0.005, 0);
        cs_burst_budget_learn(&plain, 4000, 0.005, 0);
    }
    assert_true(budget.chance > 5 * plain.chance);
    cs_burst_budget_learn(&budget, 4000, 0.005, 0);
    cs_burst_budget_learn(&plain, 4000, 0.005, 0);
    assert_true(fabs(budget.chance - plain.chance) < 1e-9);
}

static void a_process_that_is_stopped_for_long_gets_shorter_bursts(void **state)
{
    (void)state;
    struct cs_burst_length quick = {0}, slow = {0}, none = {0};
    uint32_t first = cs_burst_length_next(&none, &none);
    for (unsigned i = 0; i < 100; i++) {
        cs_burst_length_learn(&quick, 500, 16000);
        cs_burst_length_learn(&slow, 5000, 16000);
    }
    assert_int_equal(cs_burst_length_next(&quick, &slow), 16000);
    assert_in_range(cs_burst_length_next(&slow, &quick), 7900, 8100); /* 2.5 ms of 5 */
    assert_true(first <= 4000);
    assert_true(cs_burst_length_next(&none, &quick) <= 4000); /* all of its code is new to the runner */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts_take_their_budget_whatever_they_cost),
        cmocka_unit_test(cheap_bursts_are_made_at_every_trigger_and_dear_ones_now_and_then),
        cmocka_unit_test(a_rate_that_was_asked_for_stays),
        cmocka_unit_test(the_cost_follows_the_last_bursts),
        cmocka_unit_test(first_bursts_of_a_command_may_cost_more_and_no_later_ones),
        cmocka_unit_test(a_process_that_is_stopped_for_long_gets_shorter_bursts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
