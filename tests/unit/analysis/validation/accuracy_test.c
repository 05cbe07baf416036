/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimates held against counts that are known: points, scales, shares. */
#include "analysis/validation/accuracy.h"
#include "tests/unit/analysis/frequency/small_loop.h"
#include "tests/unit/test.h"

#include <math.h>

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-6 * fabs(expected) + 1e-9))
        fail_msg("%g is not %g", value, expected);
}

/* Weights and ratios of estimate to truth. */
static struct cs_accuracy_point some[] = {
    {.weight = 40, .ratio = 2.0F, .confidence = CS_CONFIDENCE_HIGH, .seen = true},
    {.weight = 30, .ratio = 2.16F, .confidence = CS_CONFIDENCE_MEDIUM, .seen = true}, /* 8 % more */
    {.weight = 20, .ratio = 1.74F, .confidence = CS_CONFIDENCE_LOW, .seen = true},    /* 13 % less */
    {.weight = 10, .ratio = 0, .confidence = CS_CONFIDENCE_LOW, .seen = false},       /* never estimated */
};

TEST(the_scale_is_the_median_ratio_by_weight)
{
    struct cs_accuracy_points points = {some, 4, 4};
    assert_near(cs_accuracy_scale(&points), 2);
    assert_near(cs_accuracy_scale(&(struct cs_accuracy_points){0}), 0);
}

TEST(shares_within_5_10_15_percent_are_by_weight)
{
    struct cs_accuracy_points points = {some, 4, 4};
    struct cs_accuracy_errors errors = {0};
    cs_accuracy_add(&errors, &points, 2);
    assert_near(errors.weight, 100);
    assert_near(errors.within[0], 40);
    assert_near(errors.within[1], 70);
    assert_near(errors.within[2], 90);
    assert_near(errors.by_confidence[CS_CONFIDENCE_LOW][3], 30);
    assert_near(errors.by_confidence[CS_CONFIDENCE_LOW][2], 20);
    assert_near(errors.by_confidence[CS_CONFIDENCE_HIGH][0], 40);
    assert_near(errors.unseen[3], 10);
    assert_near(errors.unseen[2], 0);
    assert_near(errors.bucket[0], 10);                           /* below -45 % */
    assert_near(errors.bucket[CS_ACCURACY_BUCKETS / 2], 40);     /* 0 to 5 % */
    assert_near(errors.bucket[CS_ACCURACY_BUCKETS / 2 + 1], 30); /* 5 to 10 % */
    assert_near(errors.bucket[CS_ACCURACY_BUCKETS / 2 - 3], 20); /* -15 to -10 % */
}

static struct cs_truth_insn insns[] = {{0x1000, 1000},  {0x1004, 1000}, {0x1008, 10000},
                                       {0x100c, 10000}, {0x1010, 1000}, {0x1014, 1000}};
static struct cs_truth_edge edges[] = {{0x100c, 0x1008, 9000}};
static const struct cs_truth truth = {insns, edges, 6, 1, 24000, true};

TEST(true_edges_follow_from_instructions_and_taken_branches)
{
    assert_near(cs_accuracy_true_edge(&loop, FALL_IN, &truth), 1000);
    assert_near(cs_accuracy_true_edge(&loop, BACK, &truth), 9000);
    assert_near(cs_accuracy_true_edge(&loop, FALL_OUT, &truth), 1000);
    assert_near(cs_accuracy_true_edge(&loop, RETURN, &truth), 1000);
    assert_near(cs_accuracy_true_edge(&loop, ENTRY, &truth), -1); /* from where isn't told */
}

/* An estimate in thousandths, but for the loop's, which is a fifth too high. */
TEST(points_are_instructions_by_samples_and_edges_by_truth)
{
    double block[] = {1, 12, 1}, insn[] = {1, 1, 12, 12, 1, 1}, edge[] = {1, 10.8, 1.2, 1, 1},
           seen[] = {1, 1, 0};
    uint8_t confidence[N_LOOP_EDGES] = {0};
    const struct cs_frequency f = {.n_blocks = 3,
                                   .n_edges = N_LOOP_EDGES,
                                   .n_insns = 6,
                                   .block = block,
                                   .edge = edge,
                                   .insn = insn,
                                   .seen = seen,
                                   .block_confidence = confidence,
                                   .edge_confidence = confidence};
    const uint64_t offset[] = {0x1000, 0x1008, 0x1014};
    const double count[] = {70, 20, 10};
    const struct cs_frequency_input input = {.sample_offset = offset, .sample_count = count, .n_samples = 3};
    struct cs_accuracy_points by_samples = {0}, by_truth = {0};
    struct cs_accuracy_errors of_insns = {0}, of_edges = {0};
    assert_int_equal(cs_accuracy_collect(&loop, &f, &input, &truth, &by_samples, &by_truth), 0);
    assert_int_equal(by_samples.n, 3); /* only what was sampled */
    assert_int_equal(by_truth.n, 4);   /* only what the truth tells */
    double scale = cs_accuracy_scale(&by_samples);
    assert_true(fabs(scale - 0.001) < 1e-8);
    cs_accuracy_add(&of_insns, &by_samples, scale);
    cs_accuracy_add(&of_edges, &by_truth, scale);
    assert_near(of_insns.within[2], 80);
    assert_near(of_insns.unseen[3], 10);
    assert_near(of_edges.weight, 12000);
    assert_near(of_edges.within[2], 2000);
    cs_accuracy_points_fini(&by_samples);
    cs_accuracy_points_fini(&by_truth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scale_is_the_median_ratio_by_weight),
        cmocka_unit_test(shares_within_5_10_15_percent_are_by_weight),
        cmocka_unit_test(true_edges_follow_from_instructions_and_taken_branches),
        cmocka_unit_test(points_are_instructions_by_samples_and_edges_by_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
