/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program with known visits: rates that hold other tags' events are marked, and others aren't. */
#include "observer/sample/mixed.h"
#include "tests/unit/test.h"

#include <math.h>

#define CYCLE 10000 /* of both phases */
#define SAMPLES 20000

static uint64_t state = 88172645463325252ull;

static double drawn(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

/* Work done in [0, at): the first half of each cycle does one event in 10 cycles, the other one in 100. */
static uint64_t work(uint64_t at)
{
    const uint64_t within = at % CYCLE, first = within < CYCLE / 2 ? within : CYCLE / 2;
    return (at / CYCLE * (CYCLE / 2) + first) / 10 + (at / CYCLE * (CYCLE / 2) + within - first) / 100;
}

/* What an observer with that period says of the first half's tag, which is 1. One period in 32 is short. */
static struct cs_rates_mixed seen(uint64_t period, double jitter, bool probes, unsigned samples, double *rate)
{
    const struct cs_dte_rule rule = {.band_q32 = CS_DTE_NO_BAND, .gap_cycles = 1u << 30, .same_tag = true};
    struct cs_error err;
    struct cs_sink *s;
    struct cs_sample from = {0}, to = {.complete = true};
    uint64_t at = 1;
    assert_int_equal(cs_sink_open(1, 1, NULL, 0, &rule, &s, &err), 0);
    cs_sink_period(s, period, 1e9);
    for (unsigned i = 0; i < samples; i++) {
        to.start = to.end = at;
        to.tags[0] = at % CYCLE < CYCLE / 2 ? 1 : 2;
        to.counters[0] = work(at);
        if (i == 0) {
            cs_sink_first(s, 1, &to);
        } else {
            cs_sink_probe(s, 1, &from, &to);
            cs_sink_add(s, 1, 1, 0, false, &from, &to);
        }
        from = to;
        at += probes && i % 32 == 0 ? 1 + (uint64_t)((double)period / CS_PROBE_PART * drawn())
                                    : (uint64_t)((double)period * (1 + jitter * drawn()));
    }
    cs_sink_total(s);
    const struct cs_tag_row *row = cs_tags_find(s->tags[0], 1);
    const struct cs_rates_mixed mixed = cs_rates_mixed(s, row, s->samples);
    *rate = cs_tag_mean(row, 0);
    cs_sink_close(s);
    return mixed;
}

TEST(a_fine_period_has_right_rates)
{
    double rate;
    assert_int_equal(seen(500, 0.1, true, SAMPLES, &rate).usable, CS_RATES_OK);
    assert_true(fabs(rate - 0.1) < 0.005);
}

TEST(a_long_period_is_told_with_one_that_would_do)
{
    double rate;
    const struct cs_rates_mixed mixed = seen(23000, 1, true, SAMPLES, &rate);
    assert_int_equal(mixed.usable, CS_RATES_ARE_MIXED);
    assert_true(fabs(rate - 0.1) > 0.02);
    assert_int_equal(seen((uint64_t)(23000 * mixed.shorter), 0.1, true, SAMPLES, &rate).usable, CS_RATES_OK);
    assert_true(fabs(rate - 0.1) < 0.01);
}

/* Each sample but the short ones comes at the same place of the program's cycle. */
TEST(a_period_in_step_with_the_program_is_told)
{
    double rate;
    assert_int_equal(seen(CYCLE, 0, true, SAMPLES, &rate).usable, CS_RATES_ARE_MIXED);
    assert_true(fabs(rate - 0.1) > 0.02);
}

TEST(few_intervals_are_told)
{
    double rate;
    assert_int_equal(seen(500, 0.1, false, 40, &rate).usable, CS_RATES_TOO_FEW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fine_period_has_right_rates),
        cmocka_unit_test(a_long_period_is_told_with_one_that_would_do),
        cmocka_unit_test(a_period_in_step_with_the_program_is_told),
        cmocka_unit_test(few_intervals_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
