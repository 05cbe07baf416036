/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gate's estimates and verdicts of runs whose truth is known because they are drawn. */
#include "cli/gate/verdict/verdict.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MAX 64

struct drawing {
    uint64_t state;
    double growth; /* of the head */
    double noise;  /* standard deviation of a run */
    double drift;  /* of the machine, a run */
    bool in_turn;  /* base head head base, else all of the base first */
    bool by_loop;  /* runs follow the loop, which varies by 5 % */
};

static double normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sum += (double)(*state >> 11) / (double)(UINT64_C(1) << 53);
    }
    return sum;
}

static void draw(struct drawing *d, struct gate_run run[], unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const unsigned side = d->in_turn ? (i % 4 == 1 || i % 4 == 2) : i >= n / 2;
        const double loop = d->by_loop ? exp(0.05 * normal(&d->state)) : 1;
        run[i] = (struct gate_run){.side = side,
                                   .began_ms = 1000 + i,
                                   .value = 1e9 * loop * (side ? 1 + d->growth : 1) *
                                            exp(d->drift * i + d->noise * normal(&d->state)),
                                   .machine = d->by_loop ? 1e6 * loop : (double)NAN};
    }
}

/* A rare wait: most runs have none. One pair of the other order would be fitted exactly. */
TEST(one_wait_in_one_pair_is_no_growth)
{
    for (unsigned odd = 0; odd < 6; odd++) {
        struct gate_run run[12] = {{0}};
        for (unsigned i = 0; i < 12; i++)
            run[i] = (struct gate_run){.side = i % 2 ^ (i / 2 == odd),
                                       .began_ms = 1000 + i,
                                       .value = i / 2 == odd && i % 2 == 0 ? 0.03 : 0,
                                       .machine = (double)NAN};
        struct gate_estimate e;
        assert_true(gate_estimate(run, 12, GATE_DIFFERENCE, 0, &e));
        assert_true(e.in_turn && e.low < 0 && e.high > 0 && e.chance > 0.05);
    }
}

TEST(chances_of_equal_runs_are_uniform)
{
    static const unsigned runs[] = {8, 16, 32};
    for (unsigned k = 0; k < 6; k++) {
        struct drawing d = {.state = k + 1, .noise = 0.02, .drift = k < 3 ? 0.003 : 0, .in_turn = k < 3};
        unsigned below = 0;
        for (unsigned i = 0; i < 2000; i++) {
            struct gate_run run[RUNS_MAX];
            struct gate_estimate e;
            draw(&d, run, runs[k % 3]);
            assert_true(gate_estimate(run, runs[k % 3], GATE_RATIO, 0, &e));
            assert_int_equal(e.in_turn, d.in_turn);
            below += e.chance < 0.05;
        }
        assert_in_range(below, k % 3 || k > 2 ? 60 : 0,
                        140); /* 100 are expected; drift makes the test of four pairs careful */
    }
}

TEST(growth_is_found_through_drift_and_the_range_has_it)
{
    struct drawing d = {.state = 3, .growth = 0.05, .noise = 0.01, .drift = 0.02, .in_turn = true};
    const struct gate_limits limits = {GATE_IGNORE_BELOW, GATE_MUST_SEE};
    unsigned slower = 0, inside = 0;
    for (unsigned i = 0; i < 200; i++) {
        struct gate_run run[RUNS_MAX];
        struct gate_check c = {.known = true};
        draw(&d, run, 40);
        assert_true(gate_estimate(run, 40, GATE_RATIO, 0, &c.estimate));
        gate_judge(&limits, &c, 0);
        slower += c.verdict == GATE_SLOWER;
        inside += c.estimate.low <= 0.05 && c.estimate.high >= 0.05;
    }
    assert_in_range(slower, 190, 200);
    assert_in_range(inside, 180, 200);
}

TEST(what_the_loop_explains_is_taken_out)
{
    struct drawing d = {.state = 5, .noise = 0.005, .in_turn = true, .by_loop = true};
    struct gate_run run[RUNS_MAX];
    struct gate_estimate with, without;
    draw(&d, run, 40);
    assert_true(gate_estimate(run, 40, GATE_RATIO, 0, &with));
    for (unsigned i = 0; i < 40; i++)
        run[i].machine = (double)NAN;
    assert_true(gate_estimate(run, 40, GATE_RATIO, 0, &without));
    assert_true(with.machine_removed && !without.machine_removed);
    assert_true(with.error < without.error / 4);
}

TEST(none_of_two_that_began_together_was_first)
{
    struct drawing d = {.state = 9, .growth = 0.03, .noise = 0.01, .in_turn = true};
    struct gate_run run[RUNS_MAX];
    struct gate_estimate apart, together;
    draw(&d, run, 40);
    assert_true(gate_estimate(run, 40, GATE_RATIO, 0, &apart));
    for (unsigned i = 0; i < 40; i += 2)
        run[i + 1].began_ms = run[i].began_ms;
    for (unsigned late = 0; late < 2; late++) { /* one of them in the next millisecond is no order, either */
        run[7].began_ms += late;
        assert_true(gate_estimate(run, 40, GATE_RATIO, 0, &together));
        assert_true(together.in_turn && together.error < 1.2 * apart.error);
    }
}

TEST(no_verdict_without_evidence)
{
    const struct gate_limits limits = {GATE_IGNORE_BELOW, GATE_MUST_SEE};
    struct drawing d = {.state = 7, .noise = 0.2, .in_turn = true};
    struct gate_run run[RUNS_MAX];
    struct gate_check c = {0};
    draw(&d, run, 4);
    assert_false(gate_estimate(run, 4, GATE_RATIO, 0, &c.estimate));
    assert_false(gate_estimate(run, 0, GATE_RATIO, 0, &c.estimate));
    gate_judge(&limits, &c, 0);
    assert_int_equal(c.verdict, GATE_CANT_TELL);
    draw(&d, run, 16);
    c.known = gate_estimate(run, 16, GATE_RATIO, 0, &c.estimate);
    gate_judge(&limits, &c, 0);
    assert_int_equal(c.verdict, GATE_CANT_TELL);
    assert_non_null(strstr(c.sentence, "would tell"));
}

TEST(a_gate_is_as_red_as_its_checks)
{
    struct gate_check check[2] = {{.verdict = GATE_FASTER, .required = true}, {.verdict = GATE_CANT_TELL}};
    struct gate gate = {.check = check, .n_checks = 2};
    gate_conclude(&gate);
    assert_int_equal(gate.verdict, GATE_FASTER);
    check[1].required = true;
    gate_conclude(&gate);
    assert_int_equal(gate.verdict, GATE_CANT_TELL);
    check[0].verdict = GATE_SLOWER;
    gate_conclude(&gate);
    assert_int_equal(gate.verdict, GATE_SLOWER);
    gate.n_checks = 0;
    gate_conclude(&gate);
    assert_int_equal(gate.verdict, GATE_CANT_TELL);
}

TEST(quantiles_are_those_of_tables)
{
    assert_float_equal(gate_student(0.05, 1), 12.706, 0.001);
    assert_float_equal(gate_student(0.05, 10), 2.228, 0.001);
    assert_float_equal(gate_student(0.001, 10), 4.587, 0.001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_wait_in_one_pair_is_no_growth),
        cmocka_unit_test(chances_of_equal_runs_are_uniform),
        cmocka_unit_test(growth_is_found_through_drift_and_the_range_has_it),
        cmocka_unit_test(what_the_loop_explains_is_taken_out),
        cmocka_unit_test(none_of_two_that_began_together_was_first),
        cmocka_unit_test(no_verdict_without_evidence),
        cmocka_unit_test(a_gate_is_as_red_as_its_checks),
        cmocka_unit_test(quantiles_are_those_of_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
