/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Period, cost and budget of a sample, and labels: small truths worked out by hand. */
#include "sampler/images/labels.h"
#include "sampler/rate/budget.h"
#include "sampler/rate/cost.h"
#include "sampler/rate/period.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>

#include <cmocka.h> /* after the four above, which it needs */

TEST(periods_are_odd_within_a_sixteenth_of_the_mean_and_average_to_it)
{
    struct cs_rate_period period;
    double sum = 0;
    cs_rate_period_init(&period, 1600, 7);
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t drawn = cs_rate_period_draw(&period);
        assert_in_range(drawn, 1500, 1701);
        assert_int_equal(drawn & 1, 1);
        sum += (double)drawn;
    }
    /* Uniform over 200: standard error of the mean is 58 / sqrt(20000) = 0.4. */
    assert_true(fabs(sum / 20000 - 1600) < 2.5);
}

TEST(a_period_too_short_to_vary_stays_as_it_is)
{
    struct cs_rate_period period;
    cs_rate_period_init(&period, 8, 7);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(cs_rate_period_draw(&period), 8);
}

TEST(the_cost_is_unknown_until_there_are_four_measurements)
{
    struct cs_rate_cost cost = {0};
    for (unsigned i = 0; i < 3; i++) {
        cs_rate_cost_add(&cost, 1e-6);
        assert_true(cs_rate_cost_upper(&cost) <= 0);
    }
    cs_rate_cost_add(&cost, 1e-6);
    assert_true(fabs(cs_rate_cost_upper(&cost) - 1e-6) < 1e-12); /* no spread: the bound is the mean */
}

TEST(one_wild_measurement_counts_as_four_times_the_mean)
{
    struct cs_rate_cost wild = {0}, four = {0};
    for (unsigned i = 0; i < 8; i++) {
        cs_rate_cost_add(&wild, 1e-6);
        cs_rate_cost_add(&four, 1e-6);
    }
    cs_rate_cost_add(&wild, 1);
    cs_rate_cost_add(&four, 4e-6);
    assert_true(fabs(cs_rate_cost_upper(&wild) - cs_rate_cost_upper(&four)) < 1e-12);
}

TEST(a_budget_of_half_a_percent_at_ten_microseconds_a_sample_is_350_hz)
{
    struct cs_rate_budget budget;
    cs_rate_budget_init(&budget, 0.005, 1, 2, 10e-6);
    assert_true(fabs(budget.rate_hz - 350) < 1e-6); /* 0.7 * 0.005 / 10e-6 */
    assert_false(budget.over);
}

/* A twentieth of it is left to samples, and no more than 20 a second. */
static void lowest_rate(double share, double cost, double hz)
{
    struct cs_rate_budget budget;
    cs_rate_budget_init(&budget, share, 1, 1, cost);
    for (unsigned i = 0; i < 60; i++) /* busy all the time, a tenth of it held by bursts */
        (void)cs_rate_budget_update(
            &budget,
            &(struct cs_rate_budget_window){.seconds = 1, .samples = budget.rate_hz, .held_seconds = 0.1});
    assert_true(budget.over);
    assert_true(fabs(budget.rate_hz - hz) < 1e-9);
}

TEST(a_budget_that_bursts_alone_use_up_samples_at_the_lowest_rate)
{
    lowest_rate(0.005, 10e-6, 20);
    lowest_rate(0.002, 25e-6, 4);
    lowest_rate(0.0001, 25e-6, 1);
}

TEST(a_label_has_one_number_and_no_label_is_nought)
{
    struct cs_labels *labels = cs_labels_open();
    assert_non_null(labels);
    uint32_t a = cs_labels_number(labels, "make"), b = cs_labels_number(labels, "cc1");
    assert_int_equal(cs_labels_number(labels, ""), 0);
    assert_int_not_equal(a, 0);
    assert_int_not_equal(a, b);
    assert_int_equal(cs_labels_number(labels, "make"), a);
    assert_string_equal(cs_labels_text(labels, b), "cc1");
    assert_string_equal(cs_labels_text(labels, b + 1), "");
    cs_labels_close(labels);
}

TEST(a_container_is_called_as_its_runtime_shows_it)
{
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    static const struct {
        const char *path, *name;
    } cases[] = {
        {"/system.slice/docker-" ID ".scope", "docker 0123456789ab"},
        {"/docker/" ID, "container 0123456789ab"},
        {"/machine.slice/libpod-" ID ".scope/container", "libpod 0123456789ab"},
        {"/machine.slice/libpod-" ID ".scope", "libpod 0123456789ab"},
        {"/kubepods.slice/kubepods-burstable.slice/"
         "kubepods-burstable-pod8a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9.slice/"
         "cri-containerd-" ID ".scope",
         "pod 8a1b2c3d cri-containerd 0123456789ab"},
        {"/kubepods/besteffort/pod8a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9/" ID,
         "pod 8a1b2c3d container 0123456789ab"},
        {"/system.slice/nginx.service", "nginx.service"},
        {"/user.slice/user-1000.slice/session-3.scope", "session-3.scope"},
        {"/", "/"},
        {"", ""},
        {"/docker-0123.scope-/-", "/docker-0123.scope-/-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[4200];
        snprintf(path, sizeof path, "%s", cases[i].path);
        cs_labels_container_of(path);
        assert_string_equal(path, cases[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_is_called_as_its_runtime_shows_it),
        cmocka_unit_test(periods_are_odd_within_a_sixteenth_of_the_mean_and_average_to_it),
        cmocka_unit_test(a_period_too_short_to_vary_stays_as_it_is),
        cmocka_unit_test(the_cost_is_unknown_until_there_are_four_measurements),
        cmocka_unit_test(one_wild_measurement_counts_as_four_times_the_mean),
        cmocka_unit_test(a_budget_of_half_a_percent_at_ten_microseconds_a_sample_is_350_hz),
        cmocka_unit_test(a_budget_that_bursts_alone_use_up_samples_at_the_lowest_rate),
        cmocka_unit_test(a_label_has_one_number_and_no_label_is_nought),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
