/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counted events say of a stall. */
#include "tests/unit/analysis/culprit/classify/culprit_stalls.h"

static void counted_events_bound_what_their_cause_can_cost(void **state)
{
    (void)state;
    struct cs_machine m = machine();
    struct cs_culprit_stall s;
    struct cs_culprit_classification v;
    cs_culprit_stall_init(&s, &load);
    s.cycles = 205;
    s.m = 5;
    s.bursts = true;
    s.memory = chase(256 << 20);
    s.event_rate[CS_COUNTED_L1D] = 0.1;
    cs_culprit_classify(&s, &m, &v);
    assert_true(fabs(find(&v, CS_CAUSE_DCACHE)->high - 0.1 * 1.5 * (m.memory_cycles - m.l1d.latency_cycles)) <
                1e-9);
    assert_true(v.contradiction.found); /* bursts saw a chase through memory */
    assert_int_equal(v.contradiction.cause, CS_CAUSE_DCACHE);
    s.event_rate[CS_COUNTED_L1D] = 0;
    cs_culprit_classify(&s, &m, &v);
    assert_null(find(&v, CS_CAUSE_DCACHE));
}

/* A load of the third level: no miss of the last level, each time one of the first. */
static void misses_of_the_last_level_clear_no_hit_of_a_nearer_one(void **state)
{
    (void)state;
    struct cs_machine m = machine();
    struct cs_culprit_stall s;
    struct cs_culprit_classification v;
    double l1 = m.l1d.latency_cycles, l2 = m.l2.latency_cycles, l3 = m.l3.latency_cycles;
    cs_culprit_stall_init(&s, &load);
    s.cycles = l3 - l1 + 5;
    s.m = 5;
    s.event_rate[CS_COUNTED_L3] = 0;
    cs_culprit_classify(&s, &m, &v); /* without bursts */
    assert_non_null(find(&v, CS_CAUSE_DCACHE));
    assert_true(find(&v, CS_CAUSE_DCACHE)->high > l3 - l1 - 1e-9);
    s.bursts = true;
    s.memory = chase((double)m.l3.bytes / 2);
    cs_culprit_classify(&s, &m, &v);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_DCACHE);
    assert_false(v.contradiction.found);
    s.event_rate[CS_COUNTED_L2] = 0;
    s.event_rate[CS_COUNTED_L1D] = 1;
    cs_culprit_classify(&s, &m, &v); /* it hits the second level each time */
    assert_true(fabs(find(&v, CS_CAUSE_DCACHE)->high - 1.5 * (l2 - l1)) < 1e-9);
    s.event_rate[CS_COUNTED_L2] = -1;
    s.event_rate[CS_COUNTED_L1D] = 0;
    s.memory.steady = 1; /* a prefetcher has its lines on their way: no miss that is counted */
    s.memory.pointer = 0;
    cs_culprit_classify(&s, &m, &v);
    assert_non_null(find(&v, CS_CAUSE_DCACHE));
    s.event_rate[CS_COUNTED_FILLS] = 0;
    cs_culprit_classify(&s, &m, &v);
    assert_null(find(&v, CS_CAUSE_DCACHE));
}

/* Without bursts: each load misses the second level, none walks; then each walks, and few miss. */
static void counted_events_divide_a_stall_that_nothing_else_does(void **state)
{
    (void)state;
    struct cs_machine m = machine();
    struct cs_culprit_stall s;
    struct cs_culprit_classification v;
    cs_culprit_stall_init(&s, &load);
    s.cycles = 45;
    s.m = 5;
    s.event_rate[CS_COUNTED_L1D] = s.event_likely[CS_COUNTED_L1D] = 1;
    s.event_rate[CS_COUNTED_DTLB] = 0.001;
    s.event_likely[CS_COUNTED_DTLB] = 0;
    cs_culprit_classify(&s, &m, &v);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_DCACHE);
    assert_true(v.suspects[0].counted);
    assert_true(v.suspects[0].share > 0.9 * v.stall);
    s.event_rate[CS_COUNTED_L1D] = s.event_likely[CS_COUNTED_L1D] = 0.05;
    s.event_rate[CS_COUNTED_DTLB] = s.event_likely[CS_COUNTED_DTLB] = 1;
    cs_culprit_classify(&s, &m, &v);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_DTLB);
    m.walk_cycles = 400; /* either would explain all: the larger one has more of it */
    s.event_rate[CS_COUNTED_L1D] = s.event_likely[CS_COUNTED_L1D] = 1;
    m.l2.latency_cycles = 60;
    cs_culprit_classify(&s, &m, &v);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_DTLB);
    assert_true(v.suspects[0].share > 0.8 * v.stall);
}

/* A branch's event lies where it went. */
static void a_mispredicted_call_is_named_at_the_beginning_of_what_it_calls(void **state)
{
    (void)state;
    struct cs_machine m = machine();
    struct cs_culprit_stall s;
    struct cs_culprit_classification v;
    cs_culprit_stall_init(&s, &multiply);
    s.cycles = 20;
    s.m = 3;
    s.entry = true;
    cs_culprit_classify(&s, &m, &v);
    assert_null(find(&v, CS_CAUSE_MISPREDICT)); /* nothing counted */
    s.caller = 0x1234;
    s.event_likely[CS_COUNTED_MISPREDICT] = 1;
    cs_culprit_classify(&s, &m, &v);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_MISPREDICT);
    assert_int_equal(v.suspects[0].responsible, 0x1234);
}

static void few_samples_leave_room_for_events(void **state)
{
    (void)state;
    assert_true(fabs(cs_counted_most(0) - 2.996) < 0.05); /* -ln 0.05 */
    assert_true(fabs(cs_counted_most(1) - 4.744) < 0.05); /* chi square, 95 %, 4 degrees, halved */
    assert_true(fabs(cs_counted_most(10) - 16.962) < 0.05);
    assert_true(fabs(cs_counted_most(100) - 118.08) < 0.2);
}

static void events_are_known_by_all_their_names(void **state)
{
    (void)state;
    unsigned best, worse;
    assert_int_equal(cs_counted_kind("skl::MEM_LOAD_RETIRED:L1_MISS", &best), CS_COUNTED_L1D);
    assert_int_equal(cs_counted_kind("mem_load_retired.l1_miss:pp", &best), CS_COUNTED_L1D);
    assert_int_equal(cs_counted_kind("L1-dcache-load-misses:u", &worse), CS_COUNTED_L1D);
    assert_true(best < worse);
    assert_int_equal(cs_counted_kind("LLC-load-misses", &best), CS_COUNTED_L3);
    assert_int_equal(cs_counted_kind("cycles", &best), CS_N_COUNTED);
    assert_true(cs_counted_is_precise("mem_load_retired.l1_miss:pp"));
    assert_false(cs_counted_is_precise("mem_load_retired.l1_miss:u"));
    assert_true(cs_counted_is_precise("page-faults"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted_events_bound_what_their_cause_can_cost),
        cmocka_unit_test(misses_of_the_last_level_clear_no_hit_of_a_nearer_one),
        cmocka_unit_test(counted_events_divide_a_stall_that_nothing_else_does),
        cmocka_unit_test(a_mispredicted_call_is_named_at_the_beginning_of_what_it_calls),
        cmocka_unit_test(few_samples_leave_room_for_events),
        cmocka_unit_test(events_are_known_by_all_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
