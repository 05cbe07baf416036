/* SPDX-License-Identifier: GPL-2.0-or-later */
/* analysis/statistics/phase.h on made-up programs whose phases are known. */
#include "analysis/statistics/phase.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#define KINDS 8

static uint64_t state = 88172645463325252ull;
static double draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* n samples drawn from a spread: the noise that real samples have. */
static void sample(const double *spread, unsigned n, uint64_t *counts)
{
    for (unsigned i = 0; i < n; i++) {
        double x = draw();
        unsigned k = 0;
        while (k + 1 < KINDS && x >= spread[k])
            x -= spread[k++];
        counts[k]++;
    }
}

static const double compressing[KINDS] = {0.6, 0.2, 0.1, 0.1};
static const double expanding[KINDS] = {0, 0, 0.1, 0.1, 0.5, 0.3};
static const double writing[KINDS] = {0.1, 0, 0, 0, 0.1, 0.2, 0.6};

struct stretch {
    const double *spread;
    unsigned n, number;
};

static void expect(const struct stretch *truth, size_t n_truth, unsigned samples)
{
    uint64_t *counts = calloc(4096 * KINDS, sizeof *counts);
    struct cs_phase *phases = calloc(4096, sizeof *phases);
    size_t n = 0;
    for (size_t t = 0; t < n_truth; t++)
        for (unsigned i = 0; i < truth[t].n; i++, n++)
            if (truth[t].spread)
                sample(truth[t].spread, samples, counts + n * KINDS);
    int64_t found = cs_phases_find(counts, n, KINDS, CS_PHASE_DISTANCE, phases);
    assert_int_equal(found, n_truth);
    size_t at = 0;
    for (size_t t = 0; t < n_truth; t++) {
        assert_int_equal(phases[t].first, at);
        assert_int_equal(phases[t].n, truth[t].n);
        assert_int_equal(phases[t].number, truth[t].number);
        at += truth[t].n;
    }
    free(counts);
    free(phases);
}

TEST(phases_that_come_back_are_recognised)
{
    const struct stretch truth[] = {{writing, 5, 0},      {compressing, 20, 1}, {expanding, 9, 2},
                                    {compressing, 20, 1}, {expanding, 9, 2},    {writing, 3, 0}};
    expect(truth, 6, 1000);
    expect(truth, 6, 100);
    expect(truth, 6, 30);
}

TEST(a_program_without_phases_has_one)
{
    const struct stretch truth[] = {{compressing, 500, 0}};
    expect(truth, 1, 1000);
    expect(truth, 1, 50);
    expect(truth, 1, 30);
    expect(truth, 1, 5);
}

TEST(silence_is_no_phase)
{
    const struct stretch truth[] = {{compressing, 10, 0}, {NULL, 7, CS_PHASE_IDLE}, {compressing, 10, 0}};
    expect(truth, 3, 200);
}

TEST(an_interval_in_which_the_program_changes_over_belongs_to_a_side)
{
    uint64_t counts[21 * KINDS] = {0};
    struct cs_phase phases[21];
    for (unsigned i = 0; i < 21; i++) {
        sample(compressing, i < 10 ? 200 : i == 10 ? 80 : 0, counts + i * KINDS);
        sample(expanding, i > 10 ? 200 : i == 10 ? 120 : 0, counts + i * KINDS);
    }
    assert_int_equal(cs_phases_find(counts, 21, KINDS, CS_PHASE_DISTANCE, phases), 2);
    assert_int_equal(phases[1].first, 10);
}

/* The sampler was late: the samples of two intervals were spread over both. */
TEST(two_intervals_of_a_change_belong_to_a_side_each)
{
    uint64_t counts[22 * KINDS] = {0};
    struct cs_phase phases[22];
    for (unsigned i = 0; i < 22; i++) {
        sample(compressing, i < 10 ? 300 : i == 10 ? 210 : i == 11 ? 90 : 0, counts + i * KINDS);
        sample(expanding, i > 11 ? 300 : i == 11 ? 210 : i == 10 ? 90 : 0, counts + i * KINDS);
    }
    assert_int_equal(cs_phases_find(counts, 22, KINDS, CS_PHASE_DISTANCE, phases), 2);
    assert_int_equal(phases[1].first, 11);
}

TEST(short_work_of_another_kind_is_a_phase)
{
    const struct stretch truth[] = {{compressing, 10, 0}, {writing, 2, 1}, {expanding, 10, 2}};
    expect(truth, 3, 200);
    const struct stretch single[] = {{compressing, 10, 0}, {writing, 1, 1}, {expanding, 10, 2}};
    expect(single, 3, 200);
}

TEST(distance_is_none_for_noise_and_one_for_nothing_in_common)
{
    double mean = 0;
    unsigned above = 0;
    for (unsigned round = 0; round < 400; round++) {
        uint64_t a[KINDS] = {0}, b[KINDS] = {0};
        sample(compressing, 40, a);
        sample(compressing, 300, b);
        mean += cs_phase_distance(a, b, KINDS) / 400;
        above += cs_phase_distance(a, b, KINDS) > 0;
    }
    assert_true(mean > -0.3 && mean < 0);
    assert_true(above <= 16);
    const uint64_t a[KINDS] = {1000000}, b[KINDS] = {0, 1000000};
    assert_true(cs_phase_distance(a, b, KINDS) > 0.99);
    assert_true(cs_phase_distance(a, a, KINDS) <= 0);
}

TEST(nothing_has_no_phases)
{
    assert_int_equal(cs_phases_find(NULL, 0, 5, 0.1, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_that_come_back_are_recognised),
        cmocka_unit_test(a_program_without_phases_has_one),
        cmocka_unit_test(silence_is_no_phase),
        cmocka_unit_test(an_interval_in_which_the_program_changes_over_belongs_to_a_side),
        cmocka_unit_test(two_intervals_of_a_change_belong_to_a_side_each),
        cmocka_unit_test(short_work_of_another_kind_is_a_phase),
        cmocka_unit_test(distance_is_none_for_noise_and_one_for_nothing_in_common),
        cmocka_unit_test(nothing_has_no_phases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
