/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The classifier on loads and stores: caches, TLBs, the store buffer, lines that threads share. */
#include "tests/unit/analysis/culprit/classify/culprit_stalls.h"

static void a_load_that_stays_in_near_lines_is_cleared_of_misses(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &load, .cycles = 50, .m = 5, .bursts = true, .memory = chase(1 << 28)};
    s.memory.new_lines = s.memory.far_lines = 0;
    struct cs_culprit_classification v = classify(&s);
    assert_null(find(&v, CS_CAUSE_DCACHE));
    assert_true(v.unexplained > 43);
}

static void a_chase_is_convicted_by_the_level_its_footprint_exceeds(void **state)
{
    (void)state;
    const double footprint[] = {200 << 10, 16 << 20, 512 << 20};
    const double cycles[] = {18, 70, 400}, most[] = {15 * 1.5, 60 * 1.5, 350 * 1.5};
    for (int i = 0; i < 3; i++) {
        struct cs_culprit_stall s = {
            .op = &load, .cycles = cycles[i], .m = 5, .bursts = true, .memory = chase(footprint[i])};
        struct cs_culprit_classification v = classify(&s);
        const struct cs_culprit_suspect *d = find(&v, CS_CAUSE_DCACHE);
        assert_non_null(d);
        assert_true(d == &v.suspects[0] && d->observed && d->low > 0);
        assert_true(d->high < most[i] && d->high > most[i] / 3);
    }
}

static void a_footprint_that_fits_the_first_level_clears_the_cache(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &load, .cycles = 7, .m = 5, .bursts = true, .memory = chase(16 << 10)};
    struct cs_culprit_classification v = classify(&s);
    assert_null(find(&v, CS_CAUSE_DCACHE));
}

static void only_a_store_that_misses_fills_the_store_buffer(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &plain, .next = &store, .cycles = 20, .m = 1, .bursts = true};
    struct cs_culprit_classification v = classify(&s);
    assert_null(find(&v, CS_CAUSE_STORE_BUFFER));
    s.missing_store = &store;
    s.missing_store_memory = chase(256 << 20);
    v = classify(&s);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_STORE_BUFFER);
    assert_int_equal(v.suspects[0].responsible, store.offset);
}

static void blocked_loads_and_locks_and_splits_are_named(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &load, .cycles = 19, .m = 4, .bursts = true};
    s.memory = (struct cs_culprit_memory){.seen = true, .executions = 100, .blocked = 1};
    assert_int_equal(classify(&s).suspects[0].cause, CS_CAUSE_FORWARD);
    s.memory = (struct cs_culprit_memory){.seen = true, .executions = 100, .split = 1};
    assert_int_equal(classify(&s).suspects[0].cause, CS_CAUSE_SPLIT);
    s.op = &locked;
    s.memory = (struct cs_culprit_memory){.seen = true, .executions = 100};
    assert_int_equal(classify(&s).suspects[0].cause, CS_CAUSE_LOCK);
    s.cycles = 3000; /* those of other cores wait, too: nothing else costs as much */
    s.memory.split = 1;
    assert_int_equal(classify(&s).suspects[0].cause, CS_CAUSE_SPLIT);
    assert_true(classify(&s).suspects[0].share > 0.9 * (s.cycles - s.m));
    s.cycles = 19;
    s.op = &divide;
    assert_int_equal(classify(&s).suspects[0].cause, CS_CAUSE_DIVIDER);
}

static void pages_that_the_first_tlb_holds_clear_the_dtlb(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &load, .cycles = 40, .m = 5, .bursts = true};
    s.memory = (struct cs_culprit_memory){
        .seen = true, .executions = 1000, .pointer = 1, .new_pages = 1, .footprint_pages = 30000};
    struct cs_culprit_classification v = classify(&s);
    assert_non_null(find(&v, CS_CAUSE_DTLB));
    s.memory.footprint_pages = 48;
    v = classify(&s);
    assert_null(find(&v, CS_CAUSE_DTLB));
    s.memory.footprint_pages = 30000;
    s.memory.spared = 1; /* 4 KB of a huge page are no page of the TLBs */
    v = classify(&s);
    assert_null(find(&v, CS_CAUSE_DTLB));
    s.memory.spared = 0.5;
    v = classify(&s);
    assert_non_null(find(&v, CS_CAUSE_DTLB));
    s.memory.spared = 0;
    s.memory.new_pages = 0; /* stays in pages that it used a moment ago */
    v = classify(&s);
    assert_null(find(&v, CS_CAUSE_DTLB));
}

/* A column of a matrix in rows of 4 KB, of which this burst's few lines are of one set: spectral_match. */
static struct cs_culprit_memory column_of_rows(double rows)
{
    return (struct cs_culprit_memory){.seen = true,
                                      .executions = 1000,
                                      .new_lines = 1,
                                      .crowded = 0.9,
                                      .new_pages = rows > 64,
                                      .steady = 0.97,
                                      .footprint_bytes = rows * 4096,
                                      .footprint_pages = rows};
}

static void lines_that_their_set_has_no_room_for_are_cache_misses(void **state)
{
    (void)state;
    const double rows[] = {66, 48, 12};
    for (int i = 0; i < 3; i++) {
        struct cs_culprit_stall s = {
            .op = &load, .cycles = 9, .m = 1, .bursts = true, .memory = column_of_rows(rows[i])};
        struct cs_culprit_classification v = classify(&s);
        assert_int_equal(v.suspects[0].cause, CS_CAUSE_DCACHE);
        assert_true(v.suspects[0].share > 0.8 * v.stall && v.suspects[0].conflicts);
        s.memory.footprint_bytes = rows[i] * 64; /* however few they are */
        v = classify(&s);
        assert_int_equal(v.suspects[0].cause, CS_CAUSE_DCACHE);
        s.memory.new_lines = s.memory.crowded = 0;
        v = classify(&s);
        assert_null(find(&v, CS_CAUSE_DCACHE));
    }
    struct cs_culprit_stall s = {
        .op = &load, .cycles = 60, .m = 1, .bursts = true, .memory = column_of_rows(30000)};
    struct cs_culprit_classification v = classify(&s);
    const struct cs_culprit_suspect *d = find(&v, CS_CAUSE_DCACHE);
    assert_true(d && !d->conflicts); /* other distances wouldn't help: there are too many pages */
}

static void stores_that_their_set_has_no_room_for_fill_the_buffer(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &store, .cycles = 9, .m = 1, .bursts = true, .missing_store = &store};
    s.missing_store_memory = s.memory = column_of_rows(40);
    struct cs_culprit_classification v = classify(&s);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_STORE_BUFFER);
    assert_true(v.suspects[0].conflicts);
}

static void a_few_pages_more_than_the_first_tlb_has_entries_are_worth_little(void **state)
{
    (void)state;
    const double pages[] = {66, 1000};
    double share[2];
    for (int i = 0; i < 2; i++) {
        struct cs_culprit_stall s = {
            .op = &load, .cycles = 9, .m = 1, .bursts = true, .memory = column_of_rows(pages[i])};
        s.memory.footprint_bytes = 253 << 10;
        struct cs_culprit_classification v = classify(&s);
        const struct cs_culprit_suspect *d = find(&v, CS_CAUSE_DTLB);
        share[i] = d ? d->share : 0;
        assert_true(!d || d->high > 5); /* all of them may be gone */
    }
    assert_true(share[0] < 0.1 * share[1]);
}

/* A walk that the measured latency has within is the DTLB's, where the data lie on huge pages that are split. */
static void a_walk_of_a_split_huge_page_counts_once(void **state)
{
    (void)state;
    struct cs_machine m = machine();
    struct cs_culprit_classification v;
    struct cs_culprit_stall s;
    double d_cache[2], d_tlb[2];
    m.walk_cycles = 200;
    m.huge_walk_cycles = 100;
    assert_true(fabs(cs_machine_huge_walk(&m) - 0.5) < 1e-9);
    for (int huge = 0; huge < 2; huge++) {
        cs_culprit_stall_init(&s, &load);
        s.cycles = 2000;
        s.bursts = true;
        s.memory = chase(1e9);
        s.memory.new_pages = 1;
        s.memory.footprint_pages = 250000;
        s.memory.huge = huge;
        s.memory.spared = 0.5 * huge;
        cs_culprit_classify(&s, &m, &v);
        d_cache[huge] = find(&v, CS_CAUSE_DCACHE)->expected;
        d_tlb[huge] = find(&v, CS_CAUSE_DTLB)->expected;
    }
    assert_true(d_cache[1] < d_cache[0] - 50 && d_tlb[1] < 0.6 * d_tlb[0]);
    m.huge_walk_cycles = 10; /* huge pages are huge: a difference of the chase's noise */
    assert_true(cs_machine_huge_walk(&m) <= 0);
    cs_culprit_classify(&s, &m, &v);
    assert_true(fabs(find(&v, CS_CAUSE_DCACHE)->expected - d_cache[0]) < 1e-6);
}

static void aliasing_is_named_where_loads_meet_young_stores_on_cores_that_compare_twelve_bits(void **state)
{
    (void)state;
    struct cs_machine m = machine();
    struct cs_culprit_classification v;
    struct cs_culprit_stall s;
    cs_culprit_stall_init(&s, &load);
    s.cycles = 10;
    s.m = 4;
    s.bursts = true;
    s.memory = (struct cs_culprit_memory){.seen = true, .executions = 100, .aliased = 1};
    cs_culprit_classify(&s, &m, &v);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_ALIAS);
    m.vendor = CS_MACHINE_AMD;
    cs_culprit_classify(&s, &m, &v);
    assert_null(find(&v, CS_CAUSE_ALIAS));
    m.vendor = CS_MACHINE_INTEL;
    s.memory.aliased = 0.01;
    cs_culprit_classify(&s, &m, &v);
    assert_null(find(&v, CS_CAUSE_ALIAS));
}

static void whole_forwards_straight_accesses_and_plain_text_clear_their_suspects(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &load, .cycles = 19, .m = 4, .bursts = true};
    s.memory = (struct cs_culprit_memory){.seen = true, .executions = 100, .forwarded = 1};
    struct cs_culprit_classification v = classify(&s);
    assert_null(find(&v, CS_CAUSE_FORWARD));
    assert_null(find(&v, CS_CAUSE_SPLIT));
    assert_null(find(&v, CS_CAUSE_LOCK));
    assert_null(find(&v, CS_CAUSE_DIVIDER));
    assert_null(find(&v, CS_CAUSE_SYSCALL));
}

static void what_indices_point_to_overlaps_and_a_chase_does_not(void **state)
{
    (void)state;
    struct cs_machine m = machine();
    struct cs_culprit_stall s;
    cs_culprit_stall_init(&s, &load);
    s.m = 5;
    s.bursts = true;
    s.memory = chase(256 << 20);
    double chased, gathered, most;
    cs_culprit_expect(&s, &m, &chased, &most);
    s.load_before = &load;
    s.load_before_memory = (struct cs_culprit_memory){.seen = true, .executions = 1000, .steady = 1};
    cs_culprit_expect(&s, &m, &gathered, &most);
    assert_true(gathered < 0.6 * chased);
}

static void misses_in_flight_together_share_their_wait(void **state)
{
    (void)state;
    struct cs_machine m = machine();
    struct cs_culprit_stall s;
    cs_culprit_stall_init(&s, &load);
    s.bursts = true;
    s.memory = chase(256 << 20);
    s.memory.pointer = 0;
    double alone, together, most;
    s.in_flight = 1;
    cs_culprit_expect(&s, &m, &alone, &most);
    s.in_flight = 8;
    cs_culprit_expect(&s, &m, &together, &most);
    assert_true(together > alone / 9 && together < alone / 7);
    s.memory.pointer = 1; /* of a list each waits for the one before */
    cs_culprit_expect(&s, &m, &together, &most);
    assert_true(together > 0.9 * alone);
}

static void a_load_that_takes_its_bytes_from_a_young_store_is_in_a_chain_through_memory(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &load, .cycles = 8, .m = 0, .bursts = true, .memory = {.seen = true}};
    assert_true(classify(&s).unexplained > 7.9);
    s.memory.forwarded = 1;
    struct cs_culprit_classification v = classify(&s);
    const struct cs_culprit_suspect *chain = find(&v, CS_CAUSE_DEPENDENCY);
    assert_true(chain && chain->observed && chain->share > 7.9);
    s.cycles = 100; /* more than a store and a load can take */
    v = classify(&s);
    chain = find(&v, CS_CAUSE_DEPENDENCY);
    assert_true(chain && chain->share < 15 && v.unexplained > 85);
}

static void what_a_turn_carries_through_memory_is_a_chain_as_long_as_it_was_measured(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &load, .cycles = 10, .m = 2, .bursts = true, .memory = {.seen = true}};
    struct cs_machine m = machine();
    double expected, most, uncarried;
    s.memory.forwarded = 1;
    cs_culprit_expect(&s, &m, &uncarried, &most);
    s.carried = 6;
    cs_culprit_expect(&s, &m, &expected, &most);
    assert_true(expected > uncarried && expected >= 6 && most >= expected);
    struct cs_culprit_classification v = classify(&s);
    const struct cs_culprit_suspect *chain = find(&v, CS_CAUSE_DEPENDENCY);
    assert_true(chain && chain->carried && chain->share > 7);
    assert_non_null(strstr(chain->reason, "through memory"));
    s.carried = 0;
    v = classify(&s);
    chain = find(&v, CS_CAUSE_DEPENDENCY);
    assert_true(chain && !chain->carried);
}

static void use_of_few_lines_does_not_hide_those_seldom_used(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {
        .op = &load, .cycles = 200, .m = 5, .bursts = true, .memory = chase(200 << 10)};
    assert_true(classify(&s).unexplained > 150); /* all fits the second level */
    s.memory.cold = 0.6;
    s.memory.cold_bytes = 200 << 20;
    assert_true(classify(&s).unexplained < 1);
    s.memory.cold_bytes = 300 << 10; /* more, but nobody knows how much */
    s.memory.cold_least = true;
    const struct cs_culprit_classification v = classify(&s);
    assert_true(v.unexplained < 1 && strstr(v.suspects[0].reason, "more than 300 KB (beyond L2)"));
}

static void a_prefetch_is_never_cleared_of_waiting_for_memory(void **state)
{
    (void)state;
    static const struct cs_isa_op prefetch = {.offset = 0x150, .length = 4, .flags = CS_ISA_OP_PREFETCH};
    struct cs_culprit_stall s = {.op = &prefetch, .cycles = 90, .m = 1, .bursts = true};
    struct cs_culprit_classification v = classify(&s);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_DCACHE);
    assert_true(!v.suspects[0].observed);
}

static const struct cs_culprit_sharing taken = {.taken = 1,
                                                .between = 8,
                                                .other = 0x40,
                                                .other_here = true,
                                                .other_writes = true,
                                                .size = 8,
                                                .other_at = 8,
                                                .other_size = 8};

static void a_load_of_a_line_that_another_thread_takes_waits_for_it(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &load, .cycles = 25, .m = 5, .bursts = true};
    s.memory = (struct cs_culprit_memory){.seen = true, .executions = 1000, .false_sharing = taken};
    struct cs_culprit_classification v = classify(&s);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_FALSE_SHARING);
    assert_true(v.suspects[0].observed && v.suspects[0].other == 0x40 &&
                strstr(v.suspects[0].reason, "bytes 8 to 15"));
    s.op = &locked;
    s.memory.forwarded = 1; /* bursts say so, but a locked operation needs the line all the same */
    assert_non_null(find((v = classify(&s), &v), CS_CAUSE_FALSE_SHARING));
}

static void plain_stores_and_loads_of_own_stores_are_not_blamed_where_nobody_measured(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &store, .cycles = 25, .m = 5, .bursts = true};
    s.memory = (struct cs_culprit_memory){.seen = true, .executions = 1000, .true_sharing = taken};
    struct cs_culprit_classification v = classify(&s);
    assert_null(find(&v, CS_CAUSE_TRUE_SHARING));
    s.op = &load;
    s.memory.forwarded = 1;
    assert_null(find((v = classify(&s), &v), CS_CAUSE_TRUE_SHARING));
    s.memory.forwarded = 0;
    assert_non_null(find((v = classify(&s), &v), CS_CAUSE_TRUE_SHARING));
}

static void own_stores_that_queue_for_a_taken_line_cost_what_was_measured(void **state)
{
    (void)state;
    struct cs_machine m;
    struct cs_culprit_classification v;
    const struct cs_culprit_suspect *p;
    cs_machine_default(&m);
    for (int i = 0; i < CS_MACHINE_SHARED_STEPS; i++) {
        m.shared_least_cycles[i] = i < 2 ? 4 : 0.1;
        m.shared_most_cycles[i] = i < 3 ? 8 : 0.2;
    }
    struct cs_culprit_stall s = {.op = &load, .cycles = 7, .m = 1, .turn_m = 2, .bursts = true};
    s.memory =
        (struct cs_culprit_memory){.seen = true, .executions = 1000, .forwarded = 1, .false_sharing = taken};
    cs_culprit_classify(&s, &m, &v);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_FALSE_SHARING);
    assert_true(fabs(v.suspects[0].expected - 6) < 1e-9 && fabs(v.suspects[0].in_doubt - 2) < 1e-9);
    s.carried = 58; /* a chain through memory makes the turn longer */
    cs_culprit_classify(&s, &m, &v);
    p = find(&v, CS_CAUSE_FALSE_SHARING);
    assert_true(!p || p->share < 0.31);
    s.carried = 0;
    s.op = &locked; /* it doesn't queue */
    cs_culprit_classify(&s, &m, &v);
    assert_non_null(p = find(&v, CS_CAUSE_FALSE_SHARING));
    assert_true(p->in_doubt <= 0);
    s.op = &load;
    s.turn_m = 60; /* much between: the store buffer hides it */
    cs_culprit_classify(&s, &m, &v);
    p = find(&v, CS_CAUSE_FALSE_SHARING);
    assert_true(!p || p->share < 0.31);
    s.turn_m = 2;
    s.op = &store;
    cs_culprit_classify(&s, &m, &v);
    assert_null(find(&v, CS_CAUSE_FALSE_SHARING));
}

static void a_chain_through_a_line_that_another_thread_takes_says_so(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &load, .cycles = 5, .m = 2, .static_chain = 2, .bursts = true};
    s.memory = (struct cs_culprit_memory){.seen = true, .executions = 1000, .forwarded = 1};
    struct cs_culprit_classification v = classify(&s);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_DEPENDENCY);
    assert_false(v.suspects[0].contended);
    s.memory.false_sharing = taken;
    v = classify(&s);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_DEPENDENCY);
    assert_true(v.suspects[0].contended); /* with what the scheduling model may be off added to it */
}

static void time_before_a_load_that_walks_pages_is_the_loads_where_nothing_else_explains_it(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {
        .op = &plain, .next = &load, .cycles = 40, .m = 1, .bursts = true, .next_memory = chase(64 << 20)};
    struct cs_culprit_classification v = classify(&s);
    assert_null(find(&v, CS_CAUSE_DCACHE)); /* no new pages */
    s.next_memory.new_pages = 1;
    s.next_memory.footprint_pages = 16384;
    v = classify(&s);
    const struct cs_culprit_suspect *d = find(&v, CS_CAUSE_DCACHE);
    assert_true(d && d->responsible == load.offset);
    s.op = &branch;
    s.branch = (struct cs_culprit_branch){.seen = true, .executions = 1000, .taken = 0.5, .missed = 0.9};
    s.cycles = 12;
    v = classify(&s);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_MISPREDICT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_that_stays_in_near_lines_is_cleared_of_misses),
        cmocka_unit_test(a_chase_is_convicted_by_the_level_its_footprint_exceeds),
        cmocka_unit_test(a_load_of_a_line_that_another_thread_takes_waits_for_it),
        cmocka_unit_test(a_chain_through_a_line_that_another_thread_takes_says_so),
        cmocka_unit_test(own_stores_that_queue_for_a_taken_line_cost_what_was_measured),
        cmocka_unit_test(plain_stores_and_loads_of_own_stores_are_not_blamed_where_nobody_measured),
        cmocka_unit_test(a_footprint_that_fits_the_first_level_clears_the_cache),
        cmocka_unit_test(only_a_store_that_misses_fills_the_store_buffer),
        cmocka_unit_test(blocked_loads_and_locks_and_splits_are_named),
        cmocka_unit_test(pages_that_the_first_tlb_holds_clear_the_dtlb),
        cmocka_unit_test(lines_that_their_set_has_no_room_for_are_cache_misses),
        cmocka_unit_test(stores_that_their_set_has_no_room_for_fill_the_buffer),
        cmocka_unit_test(a_few_pages_more_than_the_first_tlb_has_entries_are_worth_little),
        cmocka_unit_test(a_walk_of_a_split_huge_page_counts_once),
        cmocka_unit_test(aliasing_is_named_where_loads_meet_young_stores_on_cores_that_compare_twelve_bits),
        cmocka_unit_test(whole_forwards_straight_accesses_and_plain_text_clear_their_suspects),
        cmocka_unit_test(what_indices_point_to_overlaps_and_a_chase_does_not),
        cmocka_unit_test(misses_in_flight_together_share_their_wait),
        cmocka_unit_test(a_load_that_takes_its_bytes_from_a_young_store_is_in_a_chain_through_memory),
        cmocka_unit_test(what_a_turn_carries_through_memory_is_a_chain_as_long_as_it_was_measured),
        cmocka_unit_test(use_of_few_lines_does_not_hide_those_seldom_used),
        cmocka_unit_test(a_prefetch_is_never_cleared_of_waiting_for_memory),
        cmocka_unit_test(time_before_a_load_that_walks_pages_is_the_loads_where_nothing_else_explains_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
