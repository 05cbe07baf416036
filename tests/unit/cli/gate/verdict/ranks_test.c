/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ranks of runs. They are compared with all divisions written out, and with values that are drawn. The waits of a lock that was
 * held longer are modelled on a recording. */
#include "cli/gate/verdict/ranks.h"
#include "cli/gate/verdict/verdict.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

#define RUNS 44

static uint64_t state;

static double drawn(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 11) / (double)(UINT64_C(1) << 53);
}

/* Base, head, head, base. */
static void in_turn(struct gate_run run[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        run[i] = (struct gate_run){.side = (i + 1) / 2 % 2, .began_ms = 1000 + i, .machine = (double)NAN};
}

TEST(three_above_three_is_one_way_of_twenty)
{
    struct gate_run run[6];
    in_turn(run, 6);
    for (size_t i = 0; i < 6; i++)
        run[i].value = run[i].side ? 10 + (double)i : (double)i;
    assert_true(fabs(gate_rank_chance(run, 6, 1, 0) - 1.0 / 20) < 1e-12);
    assert_true(fabs(gate_rank_chance(run, 6, 0, 0) - 1) < 1e-12);
}

/* Mean ranks, doubled, and all 252 divisions of ten runs. */
static double by_hand(const struct gate_run run[10])
{
    unsigned rank[10], sum = 0, all = 0, beyond = 0;
    for (unsigned i = 0; i < 10; i++) {
        rank[i] = 1;
        for (unsigned k = 0; k < 10; k++)
            rank[i] += run[k].value < run[i].value ? 2 : run[k].value == run[i].value ? 1 : 0;
        sum += run[i].side ? rank[i] : 0;
    }
    for (unsigned bits = 0; bits < 1 << 10; bits++) {
        unsigned of = 0;
        if (__builtin_popcount(bits) != 5)
            continue;
        for (unsigned i = 0; i < 10; i++)
            of += bits >> i & 1 ? rank[i] : 0;
        all++;
        beyond += of >= sum;
    }
    return (double)beyond / all;
}

TEST(chances_are_those_of_all_divisions)
{
    state = 1;
    for (unsigned trial = 0; trial < 200; trial++) {
        struct gate_run run[10];
        in_turn(run, 10);
        for (size_t i = 0; i < 10; i++)
            run[i].value = floor(drawn() * (double)(2 + trial % 9)); /* many are equal */
        assert_true(fabs(gate_rank_chance(run, 10, 1, 0) - by_hand(run)) < 1e-9);
    }
}

/* Most runs have no such wait, some a long one. */
TEST(equal_programs_are_as_far_apart_as_chance_says)
{
    unsigned of_20 = 0, of_100 = 0;
    const unsigned trials = 20000;
    state = 2;
    for (unsigned trial = 0; trial < trials; trial++) {
        struct gate_run run[16];
        in_turn(run, 16);
        for (size_t i = 0; i < 16; i++)
            run[i].value = drawn() < 0.5 ? 0 : exp(8 * drawn());
        const double chance = gate_rank_chance(run, 16, 1, 0);
        of_20 += chance <= 0.05;
        of_100 += chance <= 0.01;
    }
    assert_in_range(of_20, trials / 30, trials / 20 + trials / 200);
    assert_in_range(of_100, trials / 200, trials / 100 + trials / 500);
}

/* The machine slows down: neighbours are alike, so it makes no side larger. */
TEST(drift_makes_no_side_larger)
{
    unsigned of_100 = 0;
    state = 3;
    for (unsigned trial = 0; trial < 5000; trial++) {
        struct gate_run run[16];
        in_turn(run, 16);
        for (size_t i = 0; i < 16; i++)
            run[i].value = 0.2 * (double)i + drawn();
        of_100 += gate_rank_chance(run, 16, 1, 0) <= 0.01;
    }
    assert_in_range(of_100, 0, 50);
}

/* In 8 of 22 runs nobody waits, in the base never. */
static void waits_of_a_lock(struct gate_run run[RUNS])
{
    in_turn(run, RUNS);
    for (size_t i = 0, head = 0; i < RUNS; i++)
        if (run[i].side && head++ % 11 > 3)
            run[i].value = 0.0004 * pow(1.22, (double)head);
}

TEST(a_wait_that_the_base_never_has_is_found)
{
    struct gate_run run[RUNS];
    struct gate_estimate e;
    waits_of_a_lock(run);
    assert_true(2 * gate_rank_chance(run, RUNS, 1, 0) < GATE_CHANCE / 20);
    assert_true(gate_rank_chance(run, RUNS, 0, 0) > 0.99);
    assert_true(gate_estimate(run, RUNS, GATE_DIFFERENCE, 0, &e));
    assert_true(e.chance > GATE_CHANCE); /* by the mean */
}

/* All runs of the head wait longer, by less than was asked. */
TEST(a_growth_below_what_was_asked_is_none)
{
    struct gate_run run[16];
    in_turn(run, 16);
    for (size_t i = 0; i < 16; i++)
        run[i].value = 0.01 + 1e-5 * (double)i + (run[i].side ? 0.001 : 0);
    assert_true(gate_rank_chance(run, 16, 1, 0) < 1e-3);
    assert_true(gate_rank_chance(run, 16, 1, 0.002) > 0.99);
}

TEST(runs_that_did_not_take_turns_have_no_answer)
{
    struct gate_run run[16];
    in_turn(run, 16);
    for (size_t i = 0; i < 16; i++) {
        run[i].side = i >= 8;
        run[i].value = (double)i;
    }
    assert_true(gate_rank_chance(run, 16, 1, 0) >= 1);
}

/* Stores have all runs of one side, then those of the other. */
TEST(runs_are_taken_in_order_of_time)
{
    struct gate_run run[16], by_side[16];
    size_t n = 0;
    in_turn(run, 16);
    for (size_t i = 0; i < 16; i++)
        run[i].value = (double)(i * 5 % 7) + 4 * run[i].side;
    for (unsigned side = 0; side < 2; side++)
        for (size_t i = 0; i < 16; i++)
            if (run[i].side == side)
                by_side[n++] = run[i];
    const double chance = gate_rank_chance(run, 16, 1, 0);
    assert_true(chance < 0.5);
    assert_true(fabs(gate_rank_chance(by_side, 16, 1, 0) - chance) < 1e-12);
}

TEST(runs_without_a_value_are_left_out_and_one_without_a_partner_has_no_answer)
{
    struct gate_run run[10];
    in_turn(run, 10);
    for (size_t i = 0; i < 10; i++)
        run[i].value = run[i].side ? 10 + (double)i : (double)i;
    assert_true(fabs(gate_rank_chance(run, 10, 1, 0) - 1.0 / 252) < 1e-12);
    assert_true(gate_rank_chance(run, 9, 1, 0) >= 1);
    run[4].value = run[5].value = (double)NAN;
    assert_true(fabs(gate_rank_chance(run, 10, 1, 0) - 1.0 / 70) < 1e-12);
}

TEST(runs_beyond_the_most_are_not_ranked)
{
    struct gate_run run[2 * GATE_RANKED_MAX];
    in_turn(run, 2 * GATE_RANKED_MAX);
    for (size_t i = 0; i < 2 * GATE_RANKED_MAX; i++)
        run[i].value = (double)(i * 7 % 31) + (run[i].side == (i < GATE_RANKED_MAX) ? 9 : 0);
    assert_true(fabs(gate_rank_chance(run, 2 * GATE_RANKED_MAX, 1, 0) -
                     gate_rank_chance(run, GATE_RANKED_MAX, 1, 0)) < 1e-12);
}

/* The first ones are taken; the chance stays a number between 0 and 1. */
TEST(many_runs_have_a_chance)
{
    struct gate_run run[300];
    in_turn(run, 300);
    for (size_t i = 0; i < 300; i++)
        run[i].value = (double)(i * 7 % 31) + (run[i].side ? 9 : 0);
    const double chance = gate_rank_chance(run, 300, 1, 0);
    assert_true(chance >= 0 && chance < 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_above_three_is_one_way_of_twenty),
        cmocka_unit_test(chances_are_those_of_all_divisions),
        cmocka_unit_test(equal_programs_are_as_far_apart_as_chance_says),
        cmocka_unit_test(drift_makes_no_side_larger),
        cmocka_unit_test(a_wait_that_the_base_never_has_is_found),
        cmocka_unit_test(a_growth_below_what_was_asked_is_none),
        cmocka_unit_test(runs_that_did_not_take_turns_have_no_answer),
        cmocka_unit_test(runs_are_taken_in_order_of_time),
        cmocka_unit_test(runs_without_a_value_are_left_out_and_one_without_a_partner_has_no_answer),
        cmocka_unit_test(runs_beyond_the_most_are_not_ranked),
        cmocka_unit_test(many_runs_have_a_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
