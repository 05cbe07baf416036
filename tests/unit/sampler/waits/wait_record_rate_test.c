/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that wait for 2 ms again and again: of such waits one is recorded for each T of waiting. */
#include "sampler/waits/record_rate.h"
#include "tests/unit/test.h"

#define RECORD_S 20e-6 /* of CPU time */

/* After so many looks, two seconds apart; `waited`: seconds a second. */
static uint32_t after(const struct cs_wait_rate *rate, uint32_t interval_ns, unsigned looks, double waited)
{
    for (unsigned i = 0; i < looks; i++) {
        const double records = 2 * waited / (interval_ns * 1e-9);
        interval_ns = cs_wait_interval(rate, interval_ns, 2, records, records * RECORD_S);
    }
    return interval_ns;
}

static double cpu_share(uint32_t interval_ns, double waited)
{
    return waited / (interval_ns * 1e-9) * RECORD_S;
}

TEST(waits_thin_until_reading_them_keeps_to_its_cpu_time)
{
    const struct cs_wait_rate rate = {4000, 0.002};
    for (double waited = 1; waited < 100; waited *= 3) {
        const uint32_t interval = after(&rate, cs_wait_first_interval(&rate), 2, waited);
        assert_true(cpu_share(interval, waited) <= rate.cpu_max);
        /* It settles, and doesn't go on to thin what is cheap enough. */
        assert_int_equal(after(&rate, interval, 10, waited), interval);
        assert_true(cpu_share(interval, waited) > rate.cpu_max / 8);
    }
}

TEST(more_waits_are_recorded_again_when_they_are_few)
{
    const struct cs_wait_rate rate = {4000, 0.002};
    const uint32_t busy = after(&rate, cs_wait_first_interval(&rate), 3, 90);
    assert_true(busy > CS_WAIT_INTERVAL_NS);
    assert_int_equal(after(&rate, busy, 20, 0.01), CS_WAIT_INTERVAL_NS);
}

TEST(without_a_bound_of_cpu_time_only_the_records_count)
{
    const struct cs_wait_rate rate = {4000, 0};
    assert_int_equal(cs_wait_first_interval(&rate), CS_WAIT_INTERVAL_NS);
    assert_int_equal(cs_wait_interval(&rate, CS_WAIT_INTERVAL_NS, 1, 3999, 1), CS_WAIT_INTERVAL_NS);
    assert_int_equal(cs_wait_interval(&rate, CS_WAIT_INTERVAL_NS, 1, 4001, 0), 2 * CS_WAIT_INTERVAL_NS);
}

TEST(a_storm_raises_it_to_a_second_and_no_further)
{
    const struct cs_wait_rate rate = {4000, 0.002};
    assert_int_equal(cs_wait_interval(&rate, CS_WAIT_INTERVAL_NS, 1, 1e9, 1), CS_WAIT_INTERVAL_NS_MAX);
    assert_int_equal(cs_wait_interval(&rate, CS_WAIT_INTERVAL_NS_MAX, 1, 1e9, 1), CS_WAIT_INTERVAL_NS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_thin_until_reading_them_keeps_to_its_cpu_time),
        cmocka_unit_test(more_waits_are_recorded_again_when_they_are_few),
        cmocka_unit_test(without_a_bound_of_cpu_time_only_the_records_count),
        cmocka_unit_test(a_storm_raises_it_to_a_second_and_no_further),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
