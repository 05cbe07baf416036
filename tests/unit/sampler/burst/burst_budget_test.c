/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often bursts are made, and how long: against programs whose bursts cost what is ours to say. */
#include "sampler/burst/budget.h"
#include "sampler/burst/burst_length.h"
#include "sampler/burst/burst_model.h"
#include "sampler/burst/followed.h"
#include "tests/unit/test.h"

#include <math.h>

/* Share of the target's time that bursts take once their cost is known. */
static double taken(double share, double cost_us, double trigger_s)
{
    struct cs_burst_budget budget;
    cs_burst_budget_begin(&budget, share, 0, false);
    for (unsigned i = 0; i < 500; i++)
        cs_burst_budget_learn(&budget, cost_us, share, trigger_s);
    return (budget.chance * cost_us * 1e-6 + trigger_s) / budget.period_s;
}

TEST(bursts_take_their_budget_whatever_they_cost)
{
    assert_true(fabs(taken(0.005, 1000, 0) - 0.005) <= 1e-6);
    assert_true(fabs(taken(0.005, 3000, 0) - 0.005) <= 1e-6);
    assert_true(fabs(taken(0.03, 3000, 5e-6) - 0.03) <= 1e-6); /* triggers are paid from it, too */
}

TEST(cheap_bursts_are_made_at_every_trigger_and_dear_ones_now_and_then)
{
    struct cs_burst_budget budget;
    cs_burst_budget_begin(&budget, 0.005, 0, false);
    cs_burst_budget_learn(&budget, 1, 0.005, 0);
    assert_true(fabs(budget.chance - 1) <= 0);
    for (unsigned i = 0; i < 500; i++)
        cs_burst_budget_learn(&budget, 1e9, 0.005, 0);
    assert_true(budget.chance > 0 && budget.chance < 0.1);
}

TEST(a_rate_that_was_asked_for_stays)
{
    struct cs_burst_budget budget;
    cs_burst_budget_begin(&budget, 0.005, 100, true);
    cs_burst_budget_learn(&budget, 1e6, 0.005, 0);
    assert_true(fabs(budget.chance / budget.period_s - 100) <= 1e-6);
    assert_true(fabs(budget.cost_us - 1e6) <= 1e-3);
}

TEST(the_cost_follows_the_last_bursts)
{
    struct cs_burst_budget budget;
    cs_burst_budget_begin(&budget, 0.005, 0, false);
    cs_burst_budget_learn(&budget, 100, 0.005, 0);
    cs_burst_budget_learn(&budget, 300, 0.005, 0);
    assert_true(fabs(budget.cost_us - 200) <= 1e-6); /* a mean, while there are few */
    for (unsigned i = 0; i < 500; i++)
        cs_burst_budget_learn(&budget, 700, 0.005, 0);
    assert_true(fabs(budget.cost_us - 700) <= 1);
}

TEST(first_bursts_of_a_command_may_cost_more_and_no_later_ones)
{
    struct cs_burst_budget budget, plain;
    cs_burst_budget_begin(&budget, 0.005, 0, false);
    cs_burst_budget_begin(&plain, 0.005, 0, false);
    cs_burst_budget_hurry(&budget, 20);
    for (unsigned i = 0; i < 19; i++) {
        cs_burst_budget_learn(&budget, 4000, 0.005, 0);
        cs_burst_budget_learn(&plain, 4000, 0.005, 0);
    }
    assert_true(budget.chance / budget.period_s > 5 * plain.chance / plain.period_s);
    cs_burst_budget_learn(&budget, 4000, 0.005, 0);
    cs_burst_budget_learn(&plain, 4000, 0.005, 0);
    assert_true(fabs(budget.chance - plain.chance) < 1e-9 && fabs(budget.period_s - plain.period_s) < 1e-9);
}

/* Bursts of so many us in so many seconds of a command's time, and the share that they take of it. */
static double made_in(double seconds, double cost_us, double *share)
{
    struct cs_burst_budget budget;
    double made = 0;
    cs_burst_budget_begin(&budget, CS_MODEL_BURST_BUDGET, 0, false);
    cs_burst_budget_hurry(&budget, CS_MODEL_EVIDENCE_BURSTS);
    for (double at = 0, due = 0; at < seconds; at += budget.period_s) {
        due += budget.chance;
        for (; due >= 1; due--, made++)
            cs_burst_budget_learn(&budget, cost_us, CS_MODEL_BURST_BUDGET, 0);
    }
    *share = made * cost_us * 1e-6 / seconds;
    return made;
}

TEST(a_command_has_a_hundred_bursts_after_five_seconds_whose_price_is_bounded)
{
    double share;
    for (double cost_us = 300; cost_us < 2400; cost_us += 100) {
        assert_true(made_in(5, cost_us, &share) >= 100);
        assert_true(share < 1.02 * CS_MODEL_EVIDENCE_BUDGET);
        assert_true(made_in(10, cost_us, &share) >= 150);
        assert_true(share < 1.02 * CS_MODEL_EVIDENCE_BUDGET);
    }
    assert_true(made_in(5, 10000, &share) >= 20 && share < 1.05 * CS_MODEL_EVIDENCE_BUDGET);
    double first = CS_MODEL_EVIDENCE_BURSTS * 2e-3, later = made_in(100, 2000, &share) * 2e-3;
    assert_true(later > first && (later - first) / 95 < 1.05 * CS_MODEL_BURST_BUDGET);
}

/* Attempts whose cost is ours to say, against an account; what they took of so many periods of the target's time. */
static double spent_of(double share, double cost_us, unsigned periods)
{
    struct cs_burst_budget budget;
    double spent = 0;
    cs_burst_budget_begin(&budget, share, 0, false);
    budget.accounted = true;
    for (unsigned i = 0; i < periods; i++) {
        cs_burst_budget_earn(&budget, share, 1);
        if (!cs_burst_budget_may(&budget))
            continue;
        cs_burst_budget_spend(&budget, cost_us);
        spent += cost_us;
    }
    return spent / (periods * budget.period_s * 1e6);
}

TEST(an_account_holds_its_share_however_dear_and_frequent_attempts_are)
{
    assert_true(spent_of(0.025, 100, 10000) <= 0.025);
    assert_true(spent_of(0.025, 5000, 10000) <= 0.0251 && spent_of(0.025, 5000, 10000) >= 0.024);
    assert_true(spent_of(0.025, 400000, 10000) <= 0.0275); /* the debt of the last one */
    assert_true(spent_of(0.0025, 20000, 20000) <= 0.00252);
}

TEST(no_storm_of_bursts_follows_a_long_rest)
{
    struct cs_burst_budget budget;
    cs_burst_budget_begin(&budget, 0.02, 0, false);
    budget.accounted = true;
    cs_burst_budget_earn(&budget, 0.02, 1000000);
    unsigned n = 0;
    for (; cs_burst_budget_may(&budget); n++)
        cs_burst_budget_spend(&budget, 1000);
    assert_in_range(n, 20, 21); /* a second's share is 20 ms */
}

TEST(a_runner_is_started_when_its_start_is_saved_up)
{
    struct cs_burst_budget budget;
    cs_burst_budget_begin(&budget, 0.02, 0, false);
    assert_true(cs_burst_budget_may_start(&budget, 0.02)); /* no budget was asked for: no account */
    budget.accounted = true;
    assert_true(cs_burst_budget_may(&budget));
    assert_false(cs_burst_budget_may_start(&budget, 0.02));
    double period_us = 0.02 * budget.period_s * 1e6;
    for (unsigned i = 0; i * period_us < budget.start_us + 1; i++)
        cs_burst_budget_earn(&budget, 0.02, 1);
    assert_true(cs_burst_budget_may_start(&budget, 0.02));
    for (unsigned i = 0; i < 100; i++)
        cs_burst_budget_started(&budget, 1e9); /* dearer than may ever be saved: half of that is asked for */
    cs_burst_budget_earn(&budget, 0.02, 1000000);
    assert_true(cs_burst_budget_may_start(&budget, 0.02));
}

TEST(a_stop_holds_up_all_that_the_target_keeps_busy)
{
    assert_true(fabs(cs_burst_budget_cost(1000, 300, 0.4) - 1000) < 1e-9);
    assert_true(fabs(cs_burst_budget_cost(1000, 300, 2) - 2000) < 1e-9);
    assert_true(fabs(cs_burst_budget_cost(1000, 5000, 2) - 5000) < 1e-9);
    assert_true(fabs(cs_burst_budget_cost(0, 700, 2) - 700) < 1e-9); /* an attempt in vain */
}

TEST(a_process_whose_runner_failed_is_tried_again_soon_and_ever_later)
{
    struct cs_burst_followed denied = {.ended_fd = -1}, failed = {.ended_fd = -1};
    cs_burst_followed_deny(&denied, CS_BURST_SKIP_BROKEN);
    uint64_t last = 0;
    for (unsigned i = 0; i < 20; i++) {
        cs_burst_followed_failed(&failed, CS_BURST_SKIP_BROKEN);
        uint64_t ns = failed.denied_until_ns + CS_MODEL_DENIED_NS - denied.denied_until_ns;
        assert_true(i > 0 || ns < 2 * CS_MODEL_FAILED_NS);
        assert_true(i > 5 || ns > last * 3 / 2);
        assert_true(ns <= CS_MODEL_DENIED_NS + CS_MODEL_FAILED_NS);
        last = ns;
    }
    assert_int_equal(failed.denied_why, CS_BURST_SKIP_BROKEN);
}

TEST(a_process_that_is_stopped_for_long_gets_shorter_bursts)
{
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
        cmocka_unit_test(a_command_has_a_hundred_bursts_after_five_seconds_whose_price_is_bounded),
        cmocka_unit_test(an_account_holds_its_share_however_dear_and_frequent_attempts_are),
        cmocka_unit_test(no_storm_of_bursts_follows_a_long_rest),
        cmocka_unit_test(a_runner_is_started_when_its_start_is_saved_up),
        cmocka_unit_test(a_stop_holds_up_all_that_the_target_keeps_busy),
        cmocka_unit_test(a_process_whose_runner_failed_is_tried_again_soon_and_ever_later),
        cmocka_unit_test(a_process_that_is_stopped_for_long_gets_shorter_bursts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
