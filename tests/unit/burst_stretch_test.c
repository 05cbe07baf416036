/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From moments to stretches: which places are known well enough, and what time is the thread's own. */
#include "sampler/burst/stretch.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PERIOD = 60000, COST = 20000 };
static struct pace_clock clock_of_test = {.period_ns = PERIOD, .cost_ns = COST};
static const struct run run;

uint64_t busiest_branch(const struct run *of, uint64_t from, uint64_t to)
{
    (void)of;
    return from * 1000000 + to;
}

static struct cs_burst_outcome stretched(const struct moment *moments, unsigned n)
{
    struct cs_burst_outcome outcome = {0};
    stretches(&outcome, &run, moments, n, &clock_of_test);
    return outcome;
}

static struct moment between(uint64_t time_ns, uint64_t first, uint64_t last)
{
    return (struct moment){.time_ns = time_ns, .first = first, .last = last, .n = 1 + (first != last)};
}

static void from_one_moment_to_the_next_is_a_stretch_without_what_looking_cost(void **state)
{
    (void)state;
    struct moment moments[] = {between(80000, 100, 100), between(140000, 300, 300),
                               between(200000, 700, 700)};
    struct cs_burst_outcome o = stretched(moments, 3);
    assert_int_equal(o.pace_matched, 3);
    assert_int_equal(o.n_paces, 3);
    assert_int_equal(o.pace[0].after_ns, 0);
    assert_int_equal(o.pace[0].ns, 60000);
    assert_int_equal(o.pace[0].instructions, 100);
    assert_int_equal(o.pace[2].after_ns, 140000);
    assert_int_equal(o.pace[2].ns, PERIOD - COST);
    assert_int_equal(o.pace[2].instructions, 400);
    assert_int_equal(o.pace[2].place, 300000700);
}

static void a_moment_that_is_missing_fell_due_in_the_kernel(void **state)
{
    (void)state;
    struct moment moments[] = {between(80000, 100, 100), between(200000, 300, 300)};
    struct cs_burst_outcome o = stretched(moments, 2);
    assert_int_equal(o.n_paces, 2);
    assert_int_equal(o.pace[1].ns, PERIOD - COST);
}

/* Places that differ by little beside the stretch count as their middle; what they are off by counts at both
 * ends of it. */
static void places_close_to_one_another_are_one(void **state)
{
    (void)state;
    struct moment moments[] = {between(80000, 960, 1040), between(140000, 1400, 1600),
                               between(200000, 2900, 3100)};
    struct cs_burst_outcome o = stretched(moments, 3);
    assert_int_equal(o.pace_matched, 2); /* the second: 140 of 500 */
    assert_int_equal(o.pace_ambiguous, 1);
    assert_int_equal(o.n_paces, 2);
    assert_int_equal(o.pace[0].instructions, 1000);
    assert_int_equal(o.pace[1].instructions, 2000);
    assert_int_equal(o.pace[1].ns, 2 * (PERIOD - COST));
}

/* However far into the trace: what counts is the stretch. */
static void uncertainty_is_judged_by_the_stretch(void **state)
{
    (void)state;
    struct moment moments[] = {between(80000, 1000000, 1000000), between(140000, 1000900, 1001100),
                               between(200000, 1001900, 1002100)};
    struct cs_burst_outcome o = stretched(moments, 3);
    assert_int_equal(o.pace_matched, 3 - 1); /* 1000 +- 100: good, then 1000 +- 200: not */
    assert_int_equal(o.pace[1].instructions, 1000);
}

static void what_comes_behind_a_moment_without_a_place_does_not_count(void **state)
{
    (void)state;
    struct moment moments[] = {between(80000, 100, 100), {.time_ns = 140000}, between(200000, 700, 700)};
    struct cs_burst_outcome o = stretched(moments, 3);
    assert_int_equal(o.pace_matched, 1);
    assert_int_equal(o.pace_beyond, 2);
    assert_int_equal(o.n_paces, 1);
}

static void a_moment_before_the_one_before_it_is_no_place(void **state)
{
    (void)state;
    struct moment moments[] = {between(80000, 500, 500), between(140000, 300, 300)};
    struct cs_burst_outcome o = stretched(moments, 2);
    assert_int_equal(o.pace_matched, 1);
    assert_int_equal(o.pace_ambiguous, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_one_moment_to_the_next_is_a_stretch_without_what_looking_cost),
        cmocka_unit_test(a_moment_that_is_missing_fell_due_in_the_kernel),
        cmocka_unit_test(places_close_to_one_another_are_one),
        cmocka_unit_test(uncertainty_is_judged_by_the_stretch),
        cmocka_unit_test(what_comes_behind_a_moment_without_a_place_does_not_count),
        cmocka_unit_test(a_moment_before_the_one_before_it_is_no_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
