/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The estimate of the observer's own effect, on windows of a program with a planted slowdown. */
#include <math.h>

#include "observer/effect.h"
#include "tests/unit/test.h"

static uint64_t state = 88172645463325252ull;

static double drawn(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

/* Rate of the program at a moment: phases of 1.7 ms, a quarter of them five times as fast, and a slow drift. */
static double rate(double at_ms)
{
    uint64_t phase = ((uint64_t)(at_ms / 1.7) + 1) * 0x9e3779b97f4a7c15ull;
    phase = (phase ^ phase >> 31) * 0xbf58476d1ce4e5b9ull;
    return (phase >> 62 == 0 ? 5 : 1) * (1 - at_ms / 20000);
}

static double events(double from_ms, double to_ms)
{
    double sum = 0;
    for (unsigned i = 0; i < 64; i++)
        sum += rate(from_ms + (to_ms - from_ms) * (i + 0.5) / 64) / 64;
    return sum * (to_ms - from_ms);
}

/* A look of 9 ms and 1 ms away, `pairs` times; while it is looked at the program takes `longer` times as long. */
static bool estimate(unsigned pairs, double longer, double runs, double *slower, double *error)
{
    struct cs_effect_sums s = {0};
    double at = 8000 * drawn();
    for (unsigned i = 0; i < pairs; i++) {
        const double look = 4 + 10 * drawn(), away = runs < 1 ? (drawn() < runs ? 1 : 0) : 1;
        const double done = events(at, at + look) / longer, done_away = events(at + look, at + look + away);
        if (away > 0)
            cs_effect_add(&s, (const double[]){done_away, away, done, look});
        at += look + away;
    }
    return cs_effect_estimate(&s, slower, error);
}

TEST(planted_slowdowns_are_found_within_their_error)
{
    static const double planted[] = {1, 1.04, 1.3, 2};
    for (unsigned p = 0; p < 4; p++) {
        unsigned within = 0;
        for (unsigned run = 0; run < 200; run++) {
            double slower, error;
            assert_true(estimate(300, planted[p], 1, &slower, &error));
            assert_true(error < 0.2 * planted[p]);
            within += fabs(slower - (planted[p] - 1)) < 2 * error;
        }
        assert_in_range(within, 180, 200); /* 191 of a normal distribution */
    }
}

TEST(few_pairs_or_a_counter_that_stands_still_tell_nothing)
{
    struct cs_effect_sums still = {0};
    double slower, error;
    assert_false(estimate(15, 1.3, 1, &slower, &error));
    for (unsigned i = 0; i < 100; i++)
        cs_effect_add(&still, (const double[]){0, 1, 0, 9});
    assert_false(cs_effect_estimate(&still, &slower, &error));
}

TEST(a_program_that_ran_in_few_of_the_looks_away_tells_nothing)
{
    struct cs_effect_sums s = {0};
    double slower, error;
    for (unsigned i = 0; i < 300; i++) /* 1 us in most of them */
        cs_effect_add(&s, i % 30 == 0 ? (const double[]){1000, 1000, 9000, 9000}
                                      : (const double[]){1, 1, 9000, 9000});
    assert_false(cs_effect_estimate(&s, &slower, &error));
    assert_true(estimate(300, 1.3, 0.5, &slower, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_slowdowns_are_found_within_their_error),
        cmocka_unit_test(few_pairs_or_a_counter_that_stands_still_tell_nothing),
        cmocka_unit_test(a_program_that_ran_in_few_of_the_looks_away_tells_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
