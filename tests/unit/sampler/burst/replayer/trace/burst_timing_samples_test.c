/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a snapshot to an interval: whether its position is known well enough, and what time is the thread's
 * own. */
#include "sampler/burst/replayer/trace/timing_samples.h"
#include "sampler/burst/runner/timing_model.h"
#include "tests/unit/test.h"

#include <stdlib.h>

enum { PERIOD = 100000, LATE = 20000, OWN = PERIOD - LATE * 9 / 10, BETWEEN = PERIOD - LATE * 9 / 5 };
static struct snapshot_clock clock_of_test = {.period_ns = PERIOD, .n_snapshots = 2};
static const struct run run;

uint64_t busiest_branch(const struct run *of, uint64_t from, uint64_t to)
{
    (void)of;
    return from * 1000000 + to;
}

static struct snapshot snapshot(uint64_t count_ns, uint64_t first, uint64_t last, uint32_t n)
{
    return (struct snapshot){.time_ns = count_ns, .first = first, .last = last, .n = n};
}

static struct cs_burst_outcome timed_by(struct snapshot one)
{
    struct cs_burst_outcome outcome = {0};
    snapshot_interval(&outcome, &run, &one, 1, &clock_of_test);
    return outcome;
}

static struct cs_burst_outcome between(struct snapshot one, struct snapshot other)
{
    struct cs_burst_outcome outcome = {0};
    snapshot_interval(&outcome, &run, (struct snapshot[]){one, other}, 2, &clock_of_test);
    return outcome;
}

TEST(an_interval_goes_from_the_release_to_the_snapshot)
{
    struct cs_burst_outcome o = timed_by(snapshot(PERIOD + LATE, 5000, 5000, 1));
    assert_int_equal(o.timing_tried, 1);
    assert_int_equal(o.timing_found, 1);
    assert_int_equal(o.n_intervals, 1);
    assert_int_equal(o.interval[0].ns, OWN);
    assert_int_equal(o.interval[0].instructions, 5000);
    assert_int_equal(o.interval[0].hot_branch, 5000);
    assert_true(o.interval[0].after_ns >
                0); /* its beginning is off already: not one of those that are settled */
}

/* A thread that runs an instruction a nanosecond, LATE to get going and as long to be noted, as at each of
 * two snapshots. */
TEST(between_two_snapshots_it_is_warm)
{
    uint64_t at = OWN, then = at + BETWEEN;
    struct cs_burst_outcome o =
        between(snapshot(PERIOD + LATE, at, at, 1), snapshot(2 * PERIOD + LATE / 2, then, then, 1));
    assert_int_equal(o.timing_tried, 1);
    assert_int_equal(o.n_intervals, 1);
    assert_int_equal(o.interval[0].ns, BETWEEN);
    assert_int_equal(o.interval[0].instructions, BETWEEN);
    assert_int_equal(o.interval[0].hot_branch, at * 1000000 + then);
    assert_int_equal(o.interval[0].after_ns, PERIOD | 1); /* odd: by snapshots */
    assert_int_equal(timing_cost_ns(&clock_of_test,
                                    (struct snapshot[]){snapshot(PERIOD + LATE, 0, 0, 1),
                                                        snapshot(2 * PERIOD + LATE / 2, 0, 0, 1)},
                                    2),
                     LATE * 9 / 5 * 3 / 2);
}

TEST(without_the_second_the_first_tells)
{
    struct snapshot first = snapshot(PERIOD + LATE, 5000, 5000, 1);
    struct snapshot useless[] = {
        snapshot(2 * PERIOD + LATE, 0, 0, 0),       /* the trace was over */
        snapshot(3 * PERIOD, 9000, 9000, 1),        /* it fell due in the kernel */
        snapshot(2 * PERIOD + LATE, 6000, 9000, 2), /* 1500 of 2500 */
        snapshot(2 * PERIOD + LATE, 4000, 4000, 1), /* before the first */
    };
    for (unsigned i = 0; i < sizeof useless / sizeof *useless; i++) {
        struct cs_burst_outcome o = between(first, useless[i]);
        assert_int_equal(o.n_intervals, 1);
        assert_int_equal(o.interval[0].ns, OWN);
        assert_int_equal(o.interval[0].instructions, 5000);
        assert_int_equal(o.timing_ambiguous, 0);
    }
}

static uint64_t own_ns(const struct snapshot_clock *clock, uint64_t count_ns)
{
    struct snapshot one = snapshot(count_ns, 0, 0, 1);
    return snapshot_own_ns(clock, &one);
}

TEST(time_that_is_not_known_is_none)
{
    assert_int_equal(own_ns(&clock_of_test, PERIOD), PERIOD); /* a machine whose interrupts take no time */
    assert_int_equal(own_ns(&clock_of_test, PERIOD - 1), PERIOD);
    assert_int_equal(own_ns(&clock_of_test, 2 * PERIOD), 0); /* fell due in the kernel */
    assert_int_equal(timed_by(snapshot(2 * PERIOD, 5000, 5000, 1)).n_intervals, 0);
    struct snapshot_clock soon = {.period_ns = 40000, .n_snapshots = 1};
    assert_int_equal(own_ns(&soon, 40000 + 30000), 0); /* more than half of it was lost */
}

TEST(places_close_to_one_another_are_one)
{
    struct cs_burst_outcome o = timed_by(snapshot(PERIOD, 900, 1100, 2));
    assert_int_equal(o.n_intervals, 1);
    assert_int_equal(o.interval[0].instructions, 1000);
    o = timed_by(snapshot(PERIOD, 850, 1150, 2)); /* 150 of 1000 */
    assert_int_equal(o.n_intervals, 0);
    assert_int_equal(o.timing_ambiguous, 1);
}

TEST(a_snapshot_off_the_trace_has_no_place)
{
    struct cs_burst_outcome o = between(snapshot(PERIOD, 0, 0, 0), snapshot(2 * PERIOD, 5000, 5000, 1));
    assert_int_equal(o.timing_beyond, 1);
    assert_int_equal(o.n_intervals, 0);
}

enum { MANY = 16 << 20, PLACE = 4711, ELSEWHERE = 815 };

static uint32_t last_ns(struct snapshot_clock *clock, uint64_t bytes, uint32_t random)
{
    snapshot_schedule(clock, PLACE, bytes, random);
    return clock->period_ns * clock->n_snapshots;
}

TEST(the_snapshots_of_a_long_trace_are_free)
{
    struct snapshot_clock clock = {.fast_ns_64k = 10000};
    assert_in_range(last_ns(&clock, MANY, 0), CS_MODEL_HALF_MOST_NS - 1, CS_MODEL_HALF_MOST_NS);
    assert_int_equal(clock.n_snapshots, 2);
    assert_in_range(last_ns(&clock, MANY, UINT32_MAX), 2 * CS_MODEL_HALF_MOST_NS - 10,
                    2 * CS_MODEL_HALF_MOST_NS);
    clock.fast_ns_64k = 0; /* as are those of a program of which nothing is known */
    assert_in_range(last_ns(&clock, 1, 0), CS_MODEL_HALF_MOST_NS - 1, CS_MODEL_HALF_MOST_NS);
}

TEST(the_last_snapshot_falls_into_the_traces_second_half)
{
    struct snapshot_clock clock = {.fast_ns_64k = 1000};
    unsigned pairs = 0;
    for (uint64_t bytes = 4 << 20; bytes < 10 << 20; bytes += 100000) {
        uint64_t trace_ns = bytes * clock.fast_ns_64k >> 16;
        for (uint32_t random = 0; random <= 0xffff; random += 0x1111) {
            assert_in_range(last_ns(&clock, bytes, random), trace_ns / 2 - 2, trace_ns);
            assert_true(clock.n_snapshots == 1 || clock.period_ns >= CS_MODEL_PAIR_LEAST_NS);
            pairs += clock.n_snapshots == 2;
        }
    }
    assert_true(pairs > 100);
    assert_int_equal(last_ns(&clock, 1000, 0), CS_MODEL_HALF_LEAST_NS);
    assert_int_equal(clock.n_snapshots, 1); /* its interrupt would be most of what lies between two */
}

TEST(fast_code_gets_a_longer_trace)
{
    struct snapshot_clock clock = {0};
    assert_int_equal(snapshot_room(&clock, 2 << 20), 2 << 20);
    clock.fast_ns_64k = 10000; /* 2 MB last 320 us */
    assert_int_equal(snapshot_room(&clock, 2 << 20), 2 << 20);
    clock.fast_ns_64k = 5000; /* 160 us */
    assert_int_equal(snapshot_room(&clock, 2 << 20), 50 << 16);
    clock.fast_ns_64k = 1;
    assert_int_equal(snapshot_room(&clock, 2 << 20), CS_MODEL_TRACE_ROOM);
}

static struct cs_burst_outcome timed(uint32_t ns, uint64_t instructions)
{
    return (struct cs_burst_outcome){
        .timing_tried = 1,
        .timing_found = 1,
        .n_intervals = 2,
        .interval = {{.ns = 90000, .instructions = 1000},
                     {.after_ns = 80000, .ns = ns, .instructions = instructions}}};
}

TEST(it_learns_quickly_what_is_fast_and_slowly_what_is_not)
{
    struct snapshot_clock clock = {.period_ns = PERIOD};
    struct cs_burst_outcome slow = timed(40000, 10000), fast = timed(10000, 10000), over = {0};
    enum { BYTES = 1 << 20, LENGTH = 160000 };
    snapshot_learn(&clock, &slow, BYTES, LENGTH, OWN);
    assert_int_equal(clock.fast_ns_64k, 40000); /* 16 of 16 parts of the trace take 16 times 40 us */
    snapshot_learn(&clock, &fast, BYTES, LENGTH, OWN);
    assert_int_equal(clock.fast_ns_64k, 40000 - 30000 / 4);
    snapshot_learn(&clock, &slow, BYTES, LENGTH, OWN);
    assert_int_equal(clock.fast_ns_64k, 32500 + 7500 / 64);
    /* Over at the snapshot: a sixteenth of it took less than a sixteenth of the thread's time up to then. */
    uint64_t before = clock.fast_ns_64k;
    over.timing_tried = over.timing_beyond = 1;
    snapshot_learn(&clock, &over, BYTES, LENGTH, OWN);
    assert_int_equal(clock.fast_ns_64k, before - (before - OWN / 16) / 4);
    before = clock.fast_ns_64k;
    snapshot_learn(&clock, &over, CS_MODEL_BYTES_TO_LEARN - 1, LENGTH, OWN); /* a short trace says nothing */
    assert_int_equal(clock.fast_ns_64k, before);
}

/* Two branches, one four times as fast as the other: the snapshots of each fall into the second half of its
 * own traces, and those of a branch that is met for the first time come as early as for the fastest. */
TEST(each_hot_branch_has_its_own_rate)
{
    struct snapshot_clock clock = {0};
    struct cs_burst_outcome slow = timed(40000, 10000), fast = timed(10000, 10000);
    enum { BYTES = 1 << 20, LENGTH = 160000 }; /* 640 and 160 us */
    for (unsigned i = 0; i < 40; i++) {
        snapshot_schedule(&clock, i % 2 ? PLACE : ELSEWHERE, BYTES, 0);
        snapshot_learn(&clock, i % 2 ? &slow : &fast, BYTES, LENGTH, OWN);
    }
    assert_in_range(last_ns(&clock, BYTES / 4, 0), 160000 / 2 - 10, 160000 / 2);
    snapshot_schedule(&clock, ELSEWHERE, BYTES / 4, 0);
    assert_in_range(clock.period_ns * clock.n_snapshots, CS_MODEL_HALF_LEAST_NS - 10, 40000 / 2 + 10000);
    snapshot_schedule(&clock, 1, BYTES / 2, 0);
    assert_in_range(clock.period_ns * clock.n_snapshots, 80000 / 2, 120000 / 2);
    /* One that isn't timed by snapshots doesn't change what is known of the branch before it. */
    clock.hot_branch = 0;
    snapshot_learn(&clock, &fast, BYTES, LENGTH, OWN);
    assert_in_range(last_ns(&clock, BYTES / 4, 0), 160000 / 2 - 10, 160000 / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interval_goes_from_the_release_to_the_snapshot),
        cmocka_unit_test(between_two_snapshots_it_is_warm),
        cmocka_unit_test(without_the_second_the_first_tells),
        cmocka_unit_test(time_that_is_not_known_is_none),
        cmocka_unit_test(places_close_to_one_another_are_one),
        cmocka_unit_test(a_snapshot_off_the_trace_has_no_place),
        cmocka_unit_test(the_snapshots_of_a_long_trace_are_free),
        cmocka_unit_test(the_last_snapshot_falls_into_the_traces_second_half),
        cmocka_unit_test(fast_code_gets_a_longer_trace),
        cmocka_unit_test(it_learns_quickly_what_is_fast_and_slowly_what_is_not),
        cmocka_unit_test(each_hot_branch_has_its_own_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
