/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/analysis/culprit/classify/culprit_stalls.h"

static void a_branch_that_is_always_guessed_cannot_be_mispredicted(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {
        .op = &branch,
        .cycles = 12,
        .m = 0,
        .bursts = true,
        .branch = {.seen = true, .executions = 1000, .taken = 0.5, .missed = 0.0005}};
    struct cs_culprit_classification v = classify(&s);
    assert_null(find(&v, CS_CAUSE_MISPREDICT));
    s.branch.missed = 0.5;
    v = classify(&s);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_MISPREDICT);
    assert_true(v.unexplained < 1e-9);
}

static void returns_from_beyond_the_return_stack_cost_what_a_wrong_branch_does(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &plain,
                                 .cycles = 12,
                                 .bursts = true,
                                 .return_distance = 1,
                                 .returned_from = 0x700,
                                 .returned = {.seen = true, .executions = 1000, .too_deep = 0.6}};
    struct cs_culprit_classification v = classify(&s);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_RETURN);
    assert_true(v.suspects[0].responsible == 0x700 && v.suspects[0].observed && v.unexplained < 1e-9);
    const double near = v.suspects[0].expected;
    s.return_distance = 5;
    v = classify(&s);
    assert_non_null(find(&v, CS_CAUSE_RETURN));
    assert_true(find(&v, CS_CAUSE_RETURN)->expected < near);
    s.return_distance = 1;
    s.returned.too_deep = 0.001;
    s.returned.missed = 0.9; /* as where stacks are switched */
    v = classify(&s);
    assert_null(find(&v, CS_CAUSE_RETURN));
    s.returned = (struct cs_culprit_branch){.too_deep = 0.6}; /* no burst saw it */
    v = classify(&s);
    assert_null(find(&v, CS_CAUSE_RETURN));
}

static void without_bursts_everything_the_text_allows_stays_suspect(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &load, .cycles = 40, .m = 5, .begins_line = true};
    struct cs_culprit_classification v = classify(&s);
    assert_non_null(find(&v, CS_CAUSE_DCACHE));
    assert_non_null(find(&v, CS_CAUSE_DTLB));
    assert_non_null(find(&v, CS_CAUSE_ICACHE));
    assert_null(find(&v, CS_CAUSE_MISPREDICT));
    assert_null(find(&v, CS_CAUSE_DIVIDER));
    for (unsigned i = 0; i < v.n; i++)
        assert_true(v.suspects[i].low == 0 && !v.suspects[i].observed);
}

static void two_suspects_share_and_their_bounds_say_so(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {
        .op = &load, .cycles = 205, .m = 5, .bursts = true, .memory = chase(1 << 20)};
    s.memory.footprint_bytes = 2 << 20; /* third level: some 43 cycles at most a half more */
    s.memory.new_pages = 1;
    s.memory.footprint_pages = 30000; /* walks: 28 to 42 */
    struct cs_culprit_classification v = classify(&s);
    const struct cs_culprit_suspect *d = find(&v, CS_CAUSE_DCACHE), *t = find(&v, CS_CAUSE_DTLB);
    assert_true(d && t);
    assert_true(d->share <= d->high && t->share <= t->high);
    assert_true(fabs(d->share + t->share + v.unexplained - v.stall) < 1e-6);
    assert_true(v.unexplained > 50);
}

static void amd_shows_the_wait_for_a_line_at_its_first_instruction(void **state)
{
    (void)state;
    struct cs_machine m = machine();
    struct cs_culprit_classification v;
    struct cs_culprit_stall s;
    cs_culprit_stall_init(&s, &plain);
    s.next = &load;
    s.cycles = 10;
    s.bursts = s.begun_line = true;
    s.code_bytes = 1 << 20;
    s.fetch = (struct cs_culprit_fetch){.seen = true, .new_lines = 1};
    m.vendor = CS_MACHINE_INTEL;
    cs_culprit_classify(&s, &m, &v);
    const double inside = v.unexplained;
    m.vendor = CS_MACHINE_AMD;
    cs_culprit_classify(&s, &m, &v);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_ICACHE);
    assert_true(v.unexplained < 1e-9 && inside >= v.unexplained);
    s.fetch.new_lines = 0;
    cs_culprit_classify(&s, &m, &v);
    assert_null(find(&v, CS_CAUSE_ICACHE));
}

static void the_line_of_the_previous_instruction_clears_the_instruction_cache(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {
        .op = &plain, .next = &load, .cycles = 10, .m = 0, .bursts = true, .code_bytes = 1 << 20};
    struct cs_culprit_classification v = classify(&s);
    assert_null(find(&v, CS_CAUSE_ICACHE));
    s.begins_line = true;
    s.fetch = (struct cs_culprit_fetch){.seen = true, .new_lines = 0.9};
    v = classify(&s);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_ICACHE);
    s.code_bytes = 20 << 10; /* all code that ran fits */
    v = classify(&s);
    assert_null(find(&v, CS_CAUSE_ICACHE));
}

/* Every suspect once convicted and once cleared; those above have tests of their own. */
static void a_branch_is_convicted_at_what_follows_it_and_cleared_when_guessed(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &plain,
                                 .cycles = 9,
                                 .bursts = true,
                                 .branch_before = &branch,
                                 .branch_distance = 1,
                                 .before = {.seen = true, .executions = 1000, .missed = 0.4}};
    struct cs_culprit_classification v = classify(&s);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_MISPREDICT);
    assert_int_equal(v.suspects[0].responsible, branch.offset);
    s.before.missed = 0;
    v = classify(&s);
    assert_null(find(&v, CS_CAUSE_MISPREDICT));
}

static void pages_of_code_that_fit_clear_the_itlb_and_more_than_the_last_level_are_walked_for(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {
        .op = &plain, .next = &load, .cycles = 30, .bursts = true, .begins_page = true};
    s.fetch = (struct cs_culprit_fetch){.seen = true, .new_pages = 1};
    s.code_pages = 5000;
    struct cs_culprit_classification v = classify(&s);
    const struct cs_culprit_suspect *walks = find(&v, CS_CAUSE_ITLB);
    assert_non_null(walks);
    double high = walks->high;
    s.code_pages = 500; /* the last level holds them */
    v = classify(&s);
    assert_true(find(&v, CS_CAUSE_ITLB)->high < high / 2);
    s.code_pages = 30;
    v = classify(&s);
    assert_null(find(&v, CS_CAUSE_ITLB));
    s.code_pages = 5000;
    s.begins_page = false; /* control stays in its page */
    v = classify(&s);
    assert_null(find(&v, CS_CAUSE_ITLB));
}

static void the_way_into_the_kernel_is_the_system_calls_own(void **state)
{
    (void)state;
    static const struct cs_isa_op call = {.offset = 0x140, .length = 2, .flags = CS_ISA_OP_SYSCALL};
    struct cs_culprit_stall s = {.op = &call, .cycles = 300, .m = 1, .bursts = true};
    struct cs_culprit_classification v = classify(&s);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_SYSCALL);
    assert_true(v.unexplained < 1);
}

static void page_faults_are_named_where_they_were_counted(void **state)
{
    (void)state;
    struct cs_machine m = machine();
    struct cs_culprit_classification v;
    struct cs_culprit_stall s;
    cs_culprit_stall_init(&s, &store);
    s.cycles = 100;
    s.m = 1;
    s.bursts = true;
    s.event_rate[CS_COUNTED_PAGE_FAULT] = 0.02;
    cs_culprit_classify(&s, &m, &v);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_PAGE_FAULT);
    s.event_rate[CS_COUNTED_PAGE_FAULT] = 0; /* counted, none here */
    cs_culprit_classify(&s, &m, &v);
    assert_null(find(&v, CS_CAUSE_PAGE_FAULT));
}

static void a_little_more_than_the_model_is_the_models_and_much_more_is_not(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &plain, .cycles = 12, .m = 10, .static_chain = 9, .bursts = true};
    assert_int_equal(classify(&s).suspects[0].cause, CS_CAUSE_DEPENDENCY);
    s.static_chain = 0;
    assert_int_equal(classify(&s).suspects[0].cause, CS_CAUSE_PORT);
    s.cycles = 100;
    struct cs_culprit_classification v = classify(&s);
    assert_true(v.unexplained > 80);
    s.m = 0;
    v = classify(&s);
    assert_true(!find(&v, CS_CAUSE_PORT) && !find(&v, CS_CAUSE_DEPENDENCY));
}

static void the_contexts_of_a_jump_with_many_targets_are_between_learnt_and_not(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &branch, .cycles = 3, .m = 0, .bursts = true};
    s.branch = (struct cs_culprit_branch){.seen = true, .executions = 20000, .missed = 0, .missed_most = 0};
    struct cs_culprit_classification v = classify(&s);
    assert_null(find(&v, CS_CAUSE_MISPREDICT)); /* all guessed */
    s.branch.missed_most = 0.05;
    v = classify(&s);
    const struct cs_culprit_suspect *p = find(&v, CS_CAUSE_MISPREDICT);
    assert_true(p && p->high > 1 && p->high < 3 && p->expected < 0.5);
}

static void arithmetic_that_waits_for_a_missing_load_is_not_called_denormal(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &multiply, .cycles = 60, .m = 4, .bursts = true, .load_before = &load};
    s.load_before_memory = chase(256 << 20);
    struct cs_culprit_classification v = classify(&s);
    assert_null(find(&v, CS_CAUSE_DENORMAL));
    s.load_before_memory.new_lines = 0;
    assert_int_equal(classify(&s).suspects[0].cause, CS_CAUSE_DENORMAL);
}

static void denormals_are_named_only_when_nothing_else_explains(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &multiply, .cycles = 150, .m = 4, .bursts = true};
    assert_int_equal(classify(&s).suspects[0].cause, CS_CAUSE_DENORMAL);
    s.cycles = 6;
    struct cs_culprit_classification v = classify(&s);
    assert_null(find(&v, CS_CAUSE_DENORMAL));
}

/* Behind a branch that is mispredicted half of the time (an own program): the branch has what it can take. */
static void denormals_get_what_other_causes_leave(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &multiply, .cycles = 59, .m = 0, .bursts = true};
    s.branch_before = &branch;
    s.branch_distance = 1;
    s.before = (struct cs_culprit_branch){.seen = true, .executions = 1000, .missed = 1, .missed_most = 1};
    struct cs_culprit_classification v = classify(&s);
    const struct cs_culprit_suspect *p = find(&v, CS_CAUSE_MISPREDICT), *n = find(&v, CS_CAUSE_DENORMAL);
    assert_true(p && n && p->share > 0.99 * p->high && n->share < n->low + 0.01 * v.stall);
}

static void running_faster_than_the_model_is_a_gain(void **state)
{
    (void)state;
    struct cs_culprit_stall s = {.op = &load, .cycles = 2, .m = 5, .bursts = true};
    struct cs_culprit_classification v = classify(&s);
    assert_int_equal(v.n, 0);
    assert_true(v.gain == 3 && v.stall == 0 && v.unexplained == 0);
}

/* The invariants of culprit.h over random inputs. */
static void verdicts_keep_their_invariants(void **state)
{
    (void)state;
    const struct cs_isa_op *const ops[] = {&load, &store, &branch, &plain, &divide, &locked, &multiply};
    srand(7);
#define DRAW() ((double)(rand() % 1001) / 1000)
    for (int i = 0; i < 20000; i++) {
        struct cs_culprit_stall s = {.op = ops[rand() % 7],
                                     .next = rand() % 5 ? ops[rand() % 7] : NULL,
                                     .cycles = DRAW() * 100,
                                     .m = DRAW() * 10,
                                     .bursts = rand() % 2,
                                     .begins_line = rand() % 2,
                                     .begins_page = rand() % 2,
                                     .code_bytes = DRAW() * (1 << 20)};
        s.static_chain = s.m * DRAW();
        s.memory = chase(DRAW() * (1 << 28));
        s.memory.seen = rand() % 2;
        s.memory.new_lines = DRAW();
        s.memory.blocked = DRAW();
        s.memory.new_pages = DRAW();
        s.next_memory = s.memory;
        s.missing_store = rand() % 2 ? &store : NULL;
        s.missing_store_memory = s.memory;
        s.branch = (struct cs_culprit_branch){rand() % 2, 10, DRAW(), DRAW(), DRAW(), DRAW(), DRAW(), DRAW()};
        s.returned = s.branch;
        s.return_distance = (unsigned)rand() % 13;
        s.fetch = (struct cs_culprit_fetch){rand() % 2, DRAW(), DRAW()};
        struct cs_culprit_classification v = classify(&s);
        double share = 0, low = 0;
        for (unsigned k = 0; k < v.n; k++) {
            const struct cs_culprit_suspect *p = &v.suspects[k];
            assert_true(p->low >= 0 && p->low <= p->high + 1e-9 && p->share <= p->high + 1e-9);
            assert_true(k == 0 || p->share <= v.suspects[k - 1].share);
            for (unsigned l = 0; l < k; l++)
                assert_int_not_equal(v.suspects[l].cause, p->cause); /* one letter, one culprit */
            share += p->share;
            low += p->low;
        }
        assert_true(fabs(share + v.unexplained - v.stall) < 1e-6);
        assert_true(low <= v.stall + 1e-6);
    }
}

static void a_chain_that_the_model_leaves_out_has_its_latency_and_no_more(void **state)
{
    (void)state;
    static const struct cs_isa_op part = {
        .offset = 0x140, .length = 2, .flags = CS_ISA_OP_MERGES, .writes = 1};
    struct cs_culprit_stall s = {.op = &part, .cycles = 1.5, .bursts = true};
    struct cs_culprit_classification v = classify(&s);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_DEPENDENCY);
    s.cycles = 50;
    v = classify(&s);
    assert_true(v.unexplained > 40);
    s.cycles = 0.4;
    v = classify(&s);
    assert_null(find(&v, CS_CAUSE_DEPENDENCY));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_branch_that_is_always_guessed_cannot_be_mispredicted),
        cmocka_unit_test(returns_from_beyond_the_return_stack_cost_what_a_wrong_branch_does),
        cmocka_unit_test(without_bursts_everything_the_text_allows_stays_suspect),
        cmocka_unit_test(two_suspects_share_and_their_bounds_say_so),
        cmocka_unit_test(the_line_of_the_previous_instruction_clears_the_instruction_cache),
        cmocka_unit_test(amd_shows_the_wait_for_a_line_at_its_first_instruction),
        cmocka_unit_test(a_branch_is_convicted_at_what_follows_it_and_cleared_when_guessed),
        cmocka_unit_test(pages_of_code_that_fit_clear_the_itlb_and_more_than_the_last_level_are_walked_for),
        cmocka_unit_test(the_way_into_the_kernel_is_the_system_calls_own),
        cmocka_unit_test(page_faults_are_named_where_they_were_counted),
        cmocka_unit_test(a_little_more_than_the_model_is_the_models_and_much_more_is_not),
        cmocka_unit_test(the_contexts_of_a_jump_with_many_targets_are_between_learnt_and_not),
        cmocka_unit_test(arithmetic_that_waits_for_a_missing_load_is_not_called_denormal),
        cmocka_unit_test(denormals_are_named_only_when_nothing_else_explains),
        cmocka_unit_test(denormals_get_what_other_causes_leave),
        cmocka_unit_test(a_chain_that_the_model_leaves_out_has_its_latency_and_no_more),
        cmocka_unit_test(running_faster_than_the_model_is_a_gain),
        cmocka_unit_test(verdicts_keep_their_invariants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
