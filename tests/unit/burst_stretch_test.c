/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a moment to a stretch: whether its place is known well enough, and what time is the thread's own. */
#include "sampler/burst/stretch.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PERIOD = 100000, LATE = 20000, OWN = PERIOD - LATE * 9 / 10 };
static struct pace_clock clock_of_test = {.period_ns = PERIOD};
static const struct run run;

uint64_t busiest_branch(const struct run *of, uint64_t from, uint64_t to)
{
    (void)of;
    return from * 1000000 + to;
}

static struct cs_burst_outcome stretched(uint64_t count_ns, uint64_t first, uint64_t last, uint32_t n)
{
    struct cs_burst_outcome outcome = {0};
    struct moment moment = {.time_ns = count_ns, .first = first, .last = last, .n = n};
    pace_stretch(&outcome, &run, &moment, &clock_of_test);
    return outcome;
}

static void a_stretch_goes_from_the_release_to_the_moment(void **state)
{
    (void)state;
    struct cs_burst_outcome o = stretched(PERIOD + LATE, 5000, 5000, 1);
    assert_int_equal(o.pace_samples, 1);
    assert_int_equal(o.pace_matched, 1);
    assert_int_equal(o.n_paces, 1);
    assert_int_equal(o.pace[0].ns, OWN);
    assert_int_equal(o.pace[0].instructions, 5000);
    assert_int_equal(o.pace[0].place, 5000);
    assert_true(o.pace[0].after_ns > 0); /* its beginning is off already: not one of those that are settled */
}

static void time_that_is_not_known_is_none(void **state)
{
    (void)state;
    assert_int_equal(pace_own_ns(&clock_of_test, PERIOD),
                     PERIOD); /* a machine whose interrupts take no time */
    assert_int_equal(pace_own_ns(&clock_of_test, PERIOD - 1), PERIOD);
    assert_int_equal(pace_own_ns(&clock_of_test, 2 * PERIOD), 0); /* fell due in the kernel */
    assert_int_equal(stretched(2 * PERIOD, 5000, 5000, 1).n_paces, 0);
    struct pace_clock soon = {.period_ns = 40000};
    assert_int_equal(pace_own_ns(&soon, 40000 + 30000), 0); /* more than half of it was lost */
}

static void places_close_to_one_another_are_one(void **state)
{
    (void)state;
    struct cs_burst_outcome o = stretched(PERIOD, 900, 1100, 2);
    assert_int_equal(o.n_paces, 1);
    assert_int_equal(o.pace[0].instructions, 1000);
    o = stretched(PERIOD, 850, 1150, 2); /* 150 of 1000 */
    assert_int_equal(o.n_paces, 0);
    assert_int_equal(o.pace_ambiguous, 1);
}

static void a_moment_off_the_trace_has_no_place(void **state)
{
    (void)state;
    struct cs_burst_outcome o = stretched(PERIOD, 0, 0, 0);
    assert_int_equal(o.pace_beyond, 1);
    assert_int_equal(o.n_paces, 0);
}

enum { MANY = 16 << 20 };

static void the_period_of_a_long_trace_is_free(void **state)
{
    (void)state;
    struct pace_clock clock = {.fast_ns_64k = 10000};
    assert_int_equal(pace_period(&clock, MANY, 0), HALF_MOST_NS);
    assert_in_range(pace_period(&clock, MANY, UINT32_MAX), 2 * HALF_MOST_NS - 10, 2 * HALF_MOST_NS);
    clock.fast_ns_64k = 0; /* as is that of a program of which nothing is known */
    assert_int_equal(pace_period(&clock, 1, 0), HALF_MOST_NS);
}

static void the_moment_falls_into_the_traces_second_half(void **state)
{
    (void)state;
    struct pace_clock clock = {.fast_ns_64k = 1000};
    for (uint64_t bytes = 4 << 20; bytes < 10 << 20; bytes += 100000) {
        uint64_t trace_ns = bytes * clock.fast_ns_64k >> 16;
        for (uint32_t random = 0; random <= 0xffff; random += 0x1111)
            assert_in_range(pace_period(&clock, bytes, random), trace_ns / 2 - 1, trace_ns);
    }
    assert_int_equal(pace_period(&clock, 1000, 0), HALF_LEAST_NS);
}

static void fast_code_gets_a_longer_trace(void **state)
{
    (void)state;
    struct pace_clock clock = {0};
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
    return (struct cs_burst_outcome){.pace_samples = 1,
                                     .pace_matched = 1,
                                     .n_paces = 2,
                                     .pace = {{.ns = 90000, .instructions = 1000},
                                              {.after_ns = 80000, .ns = ns, .instructions = instructions}}};
}

static void it_learns_quickly_what_is_fast_and_slowly_what_is_not(void **state)
{
    (void)state;
    struct pace_clock clock = {.period_ns = PERIOD};
    struct cs_burst_outcome slow = timed(40000, 10000), fast = timed(10000, 10000), over = {0};
    enum { BYTES = 1 << 20, LENGTH = 160000 };
    pace_learn(&clock, &slow, BYTES, LENGTH, OWN);
    assert_int_equal(clock.fast_ns_64k, 40000); /* 16 of 16 parts of the trace take 16 times 40 us */
    pace_learn(&clock, &fast, BYTES, LENGTH, OWN);
    assert_int_equal(clock.fast_ns_64k, 40000 - 30000 / 4);
    pace_learn(&clock, &slow, BYTES, LENGTH, OWN);
    assert_int_equal(clock.fast_ns_64k, 32500 + 7500 / 64);
    /* Over at the moment: a sixteenth of it took less than a sixteenth of the thread's time up to then. */
    uint64_t before = clock.fast_ns_64k;
    over.pace_samples = over.pace_beyond = 1;
    pace_learn(&clock, &over, BYTES, LENGTH, OWN);
    assert_int_equal(clock.fast_ns_64k, before - (before - OWN / 16) / 4);
    before = clock.fast_ns_64k;
    pace_learn(&clock, &over, BYTES_TO_LEARN - 1, LENGTH, OWN); /* a short trace says nothing */
    assert_int_equal(clock.fast_ns_64k, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stretch_goes_from_the_release_to_the_moment),
        cmocka_unit_test(time_that_is_not_known_is_none),
        cmocka_unit_test(places_close_to_one_another_are_one),
        cmocka_unit_test(a_moment_off_the_trace_has_no_place),
        cmocka_unit_test(the_period_of_a_long_trace_is_free),
        cmocka_unit_test(the_moment_falls_into_the_traces_second_half),
        cmocka_unit_test(fast_code_gets_a_longer_trace),
        cmocka_unit_test(it_learns_quickly_what_is_fast_and_slowly_what_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
