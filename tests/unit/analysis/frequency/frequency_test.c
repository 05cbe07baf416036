/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frequencies of a procedure whose counts are known, from edges and from samples. */
#include "tests/unit/analysis/frequency/small_loop.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

static struct cs_error err;

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-6 * fabs(expected)))
        fail_msg("%g is not %g", value, expected);
}

/* Edges of the loop, of its caller at 0x4ffc and back to it, each seen and estimated as often as it ran. */
struct seen {
    struct cs_counted_edge list[4];
    uint32_t by_to[4];
    char images[1][CS_IMAGE_ID_MAX];
    struct cs_edge_flow flow;
};

static struct seen seen_edges(void)
{
    struct seen s = {.list = {{.from = 0x100c, .to = 0x1008, .count = 9000},
                              {.from = 0x100c, .to = 0x1010, .count = 1000},
                              {.from = 0x1014, .to = 0x5000, .count = 1000},
                              {.from = 0x4ffc, .to = 0x1000, .count = 1000}},
                     .by_to = {3, 0, 1, 2}};
    for (int i = 0; i < 4; i++) {
        s.list[i].flow = s.list[i].count;
        for (int k = 0; k < CS_EDGE_FLOW_REPLICATES; k++)
            s.list[i].replicate[k] = (float)s.list[i].flow;
    }
    return s;
}

static struct cs_frequency estimated(struct seen *s, enum cs_frequency_method method)
{
    static const uint64_t offset[] = {0x1000, 0x1004, 0x1008, 0x100c, 0x1010, 0x1014};
    static const double count[] = {10, 30, 100, 300, 10, 10};
    struct cs_frequency f;
    struct cs_frequency_input input = {
        .image = UINT32_MAX, .sample_offset = offset, .sample_count = count, .n_samples = 6};
    if (s) {
        s->flow = (struct cs_edge_flow){
            .list = s->list, .by_to = s->by_to, .n = 4, .images = s->images, .n_images = 1};
        input.flow = &s->flow;
        input.image = 0;
    }
    assert_int_equal(cs_frequency_estimate(&loop, &input, method, &f, &err), 0);
    return f;
}

TEST(blocks_and_edges_run_as_often_as_the_edges_say)
{
    struct seen s = seen_edges();
    struct cs_frequency f = estimated(&s, CS_FREQUENCY_BURSTS);
    assert_near(f.block[0], 1000); /* has no branch: what it got from its caller */
    assert_near(f.block[1], 10000);
    assert_near(f.block[2], 1000);
    assert_near(f.edge[FALL_IN], 1000);
    assert_near(f.edge[BACK], 9000);
    assert_near(f.edge[FALL_OUT], 1000);
    assert_near(f.edge[RETURN], 1000);
    assert_near(f.edge[ENTRY], 1000);
    assert_near(f.insn[3], 10000);
    assert_false(f.from_samples);
    for (int b = 0; b < 3; b++)
        assert_int_equal(f.block_confidence[b], CS_CONFIDENCE_HIGH);
    cs_frequency_fini(&f);
}

/* Replicate k of the loop's edges is off by so much, up and down in turn. */
static uint8_t confidence_of_loop(double off, double off_as_a_whole)
{
    struct seen s = seen_edges();
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < CS_EDGE_FLOW_REPLICATES; k++) {
            double within = i == 0 ? exp(k % 2 ? off : -off) : 1,
                   whole = exp(k % 2 ? off_as_a_whole : -off_as_a_whole);
            s.list[i].replicate[k] = (float)(s.list[i].flow * within * whole);
        }
    struct cs_frequency f = estimated(&s, CS_FREQUENCY_BURSTS);
    uint8_t confidence = f.block_confidence[0];
    cs_frequency_fini(&f);
    return confidence;
}

TEST(replicates_that_differ_within_the_procedure_lower_confidence)
{
    assert_int_equal(confidence_of_loop(0, 0), CS_CONFIDENCE_HIGH);
    assert_int_equal(confidence_of_loop(0.3, 0), CS_CONFIDENCE_LOW);
}

TEST(replicates_that_are_off_as_a_whole_do_not)
{
    assert_int_equal(confidence_of_loop(0, 0.5), CS_CONFIDENCE_HIGH);
}

TEST(without_edges_samples_are_the_prior)
{
    struct cs_frequency f = estimated(NULL, CS_FREQUENCY_BURSTS);
    assert_true(f.from_samples);
    assert_near(f.block[0], 20); /* samples an instruction */
    assert_near(f.block[1], 200);
    assert_near(f.block[2], 10);
    assert_near(f.edge[BACK] + f.edge[FALL_OUT], 200);
    assert_near(f.edge[BACK] / f.edge[FALL_OUT], 20); /* in proportion to their targets */
    assert_int_equal(f.block_confidence[1], CS_CONFIDENCE_LOW);
    cs_frequency_fini(&f);
}

TEST(simple_rules_are_what_they_say)
{
    struct cs_frequency equal = estimated(NULL, CS_FREQUENCY_EQUAL),
                        naive = estimated(NULL, CS_FREQUENCY_NAIVE);
    assert_near(equal.block[0], equal.block[1]);
    assert_near(equal.block[2], equal.block[1]);
    assert_near(naive.insn[3], 300);
    assert_near(naive.insn[0], 10);
    cs_frequency_fini(&equal);
    cs_frequency_fini(&naive);
}

/* Blocks 0 and 2 are one class: S/M of its points is 10, 30, 10, 10. Three within 1.5 of the smallest. */
TEST(dcpi_averages_the_first_cluster_of_a_class)
{
    struct cs_frequency f = estimated(NULL, CS_FREQUENCY_DCPI);
    assert_near(f.block[0], 10);
    assert_near(f.block[2], 10);
    assert_near(f.block[1], 100);  /* 100 alone is half of its class */
    assert_near(f.edge[BACK], 90); /* by flow: 100 less what leaves */
    cs_frequency_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_and_edges_run_as_often_as_the_edges_say),
        cmocka_unit_test(replicates_that_differ_within_the_procedure_lower_confidence),
        cmocka_unit_test(replicates_that_are_off_as_a_whole_do_not),
        cmocka_unit_test(without_edges_samples_are_the_prior),
        cmocka_unit_test(simple_rules_are_what_they_say),
        cmocka_unit_test(dcpi_averages_the_first_cluster_of_a_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
