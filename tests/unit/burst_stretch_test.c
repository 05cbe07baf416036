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

enum { MANY = 16 << 20, MOMENTS = 3 };

static void the_period_of_a_long_trace_is_free(void **state)
{
    (void)state;
    struct pace_clock clock = {.cost_ns = COST, .fast_ns_64k = 10000};
    assert_int_equal(pace_period(&clock, MANY, MOMENTS, 0), PERIOD_LEAST_NS);
    assert_in_range(pace_period(&clock, MANY, MOMENTS, UINT64_MAX), PERIOD_LEAST_NS + PERIOD_SPAN_NS - 1,
                    PERIOD_LEAST_NS + PERIOD_SPAN_NS);
    clock.fast_ns_64k = 0; /* as is that of a program of which nothing is known */
    assert_int_equal(pace_period(&clock, 1, MOMENTS, 0), PERIOD_LEAST_NS);
}

/* The thread's own time at the last moment, by the clock's own account. */
static void the_last_moment_falls_into_the_traces_second_half(void **state)
{
    (void)state;
    struct pace_clock clock = {.cost_ns = COST, .fast_ns_64k = 1000};
    for (uint64_t bytes = 7 << 20; bytes < 10 << 20; bytes += 100000) {
        uint64_t trace_ns = bytes * clock.fast_ns_64k >> 16;
        for (uint64_t random = 0; random <= 0xffff; random += 0x1111) {
            uint64_t period = pace_period(&clock, bytes, MOMENTS, random << 16 | 0xffff);
            uint64_t last_ns = MOMENTS * period - (MOMENTS - 1) * COST - LATE_NS;
            assert_in_range(last_ns, trace_ns / 2 - MOMENTS, trace_ns);
        }
    }
}

static void no_period_is_lost_in_what_looking_costs(void **state)
{
    (void)state;
    struct pace_clock clock = {.cost_ns = COST, .fast_ns_64k = 1000};
    assert_int_equal(pace_period(&clock, 1000, MOMENTS, 12345), COST + OWN_LEAST_NS);
}

static void fast_code_gets_a_longer_trace(void **state)
{
    (void)state;
    struct pace_clock clock = {.cost_ns = COST};
    assert_int_equal(pace_room(&clock, 2 << 20), 2 << 20);
    clock.fast_ns_64k = 10000; /* 2 MB last 320 us */
    assert_int_equal(pace_room(&clock, 2 << 20), 2 << 20);
    clock.fast_ns_64k = 3000; /* 96 us */
    assert_int_equal(pace_room(&clock, 2 << 20), 50 << 16);
    clock.fast_ns_64k = 1;
    assert_int_equal(pace_room(&clock, 2 << 20), ROOM_MOST);
}

static struct cs_burst_outcome timed(uint32_t ns, uint64_t instructions)
{
    return (struct cs_burst_outcome){.pace_samples = 3,
                                     .pace_matched = 2,
                                     .pace_beyond = 1,
                                     .n_paces = 2,
                                     .pace = {{.ns = 90000, .instructions = 1000},
                                              {.after_ns = 80000, .ns = ns, .instructions = instructions}}};
}

static void it_learns_quickly_what_is_fast_and_slowly_what_is_not(void **state)
{
    (void)state;
    struct pace_clock clock = {.period_ns = PERIOD, .cost_ns = COST};
    struct cs_burst_outcome slow = timed(40000, 10000), fast = timed(10000, 10000), over = {0};
    enum { BYTES = 1 << 20, LENGTH = 160000 };
    pace_learn(&clock, &slow, BYTES, LENGTH, 80000);
    assert_int_equal(clock.fast_ns_64k, 40000); /* 16 of 16 parts of the trace take 16 times 40 us */
    pace_learn(&clock, &fast, BYTES, LENGTH, 80000);
    assert_int_equal(clock.fast_ns_64k, 40000 - 30000 / 4);
    pace_learn(&clock, &slow, BYTES, LENGTH, 80000);
    assert_int_equal(clock.fast_ns_64k, 32500 + 7500 / 16);
    /* Over at the first moment, at 60 us of its own time: a sixteenth of it took less. */
    uint64_t before = clock.fast_ns_64k;
    over.pace_samples = over.pace_beyond = 3;
    pace_learn(&clock, &over, BYTES, LENGTH, 80000);
    assert_int_equal(clock.fast_ns_64k, before - (before - 60000 / 16) / 4);
    before = clock.fast_ns_64k;
    pace_learn(&clock, &over, BYTES_TO_LEARN - 1, LENGTH, 80000); /* a short trace says nothing */
    assert_int_equal(clock.fast_ns_64k, before);
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
        cmocka_unit_test(the_period_of_a_long_trace_is_free),
        cmocka_unit_test(the_last_moment_falls_into_the_traces_second_half),
        cmocka_unit_test(no_period_is_lost_in_what_looking_costs),
        cmocka_unit_test(fast_code_gets_a_longer_trace),
        cmocka_unit_test(it_learns_quickly_what_is_fast_and_slowly_what_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
