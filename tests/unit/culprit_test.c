/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/culprit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct cs_op load = {.offset = 0x100, .length = 4, .flags = CS_OP_LOAD, .access_bytes = 8};
static const struct cs_op store = {.offset = 0x104, .length = 4, .flags = CS_OP_STORE, .access_bytes = 8};
static const struct cs_op branch = {.offset = 0x108, .length = 2, .flags = CS_OP_BRANCH};
static const struct cs_op plain = {.offset = 0x10a, .length = 3};
static const struct cs_op divide = {.offset = 0x110, .length = 3, .flags = CS_OP_DIVIDE};
static const struct cs_op locked = {
    .offset = 0x120, .length = 4, .flags = CS_OP_LOCK | CS_OP_LOAD | CS_OP_STORE};
static const struct cs_op multiply = {.offset = 0x130, .length = 4, .flags = CS_OP_FLOAT};

static struct cs_machine machine(void)
{
    struct cs_machine m;
    cs_machine_default(&m);
    m.vendor = CS_VENDOR_INTEL;
    return m;
}

/* Cases leave event rates out: nothing counted. */
static struct cs_verdict judge(const struct cs_stall *given)
{
    struct cs_machine m = machine();
    struct cs_verdict v;
    struct cs_stall s = *given, blank;
    cs_stall_init(&blank, given->op);
    memcpy(s.event_rate, blank.event_rate, sizeof s.event_rate);
    cs_culprit_judge(&s, &m, &v);
    return v;
}

static const struct cs_suspect *find(const struct cs_verdict *v, enum cs_cause cause)
{
    for (unsigned i = 0; i < v->n; i++)
        if (v->suspects[i].cause == cause)
            return &v->suspects[i];
    return NULL;
}

/* Lines: a load with `bytes` of footprint whose every execution brings a new line. */
static struct cs_memory_facts chase(double bytes)
{
    return (struct cs_memory_facts){.seen = true,
                                    .executions = 1000,
                                    .new_lines = 1,
                                    .far_lines = 0.5,
                                    .pointer = 1,
                                    .footprint_bytes = bytes,
                                    .footprint_pages = 16};
}

static void a_load_that_stays_in_near_lines_is_cleared_of_misses(void **state)
{
    (void)state;
    struct cs_stall s = {.op = &load, .cycles = 50, .m = 5, .bursts = true, .memory = chase(1 << 28)};
    s.memory.new_lines = s.memory.far_lines = 0;
    struct cs_verdict v = judge(&s);
    assert_null(find(&v, CS_CAUSE_DCACHE));
    assert_true(v.unexplained > 43);
}

static void a_chase_is_convicted_by_the_level_its_footprint_exceeds(void **state)
{
    (void)state;
    const double footprint[] = {200 << 10, 16 << 20, 512 << 20};
    const double cycles[] = {18, 70, 400}, most[] = {15 * 1.5, 60 * 1.5, 350 * 1.5};
    for (int i = 0; i < 3; i++) {
        struct cs_stall s = {
            .op = &load, .cycles = cycles[i], .m = 5, .bursts = true, .memory = chase(footprint[i])};
        struct cs_verdict v = judge(&s);
        const struct cs_suspect *d = find(&v, CS_CAUSE_DCACHE);
        assert_non_null(d);
        assert_true(d == &v.suspects[0] && d->observed && d->low > 0);
        assert_true(d->high < most[i] && d->high > most[i] / 3);
    }
}

static void a_footprint_that_fits_the_first_level_clears_the_cache(void **state)
{
    (void)state;
    struct cs_stall s = {.op = &load, .cycles = 7, .m = 5, .bursts = true, .memory = chase(16 << 10)};
    struct cs_verdict v = judge(&s);
    assert_null(find(&v, CS_CAUSE_DCACHE));
}

static void a_branch_that_is_always_guessed_cannot_be_mispredicted(void **state)
{
    (void)state;
    struct cs_stall s = {.op = &branch,
                         .cycles = 12,
                         .m = 0,
                         .bursts = true,
                         .branch = {.seen = true, .executions = 1000, .taken = 0.5, .missed = 0.0005}};
    struct cs_verdict v = judge(&s);
    assert_null(find(&v, CS_CAUSE_MISPREDICT));
    s.branch.missed = 0.5;
    v = judge(&s);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_MISPREDICT);
    assert_true(v.unexplained < 1e-9);
}

static void without_bursts_everything_the_text_allows_stays_suspect(void **state)
{
    (void)state;
    struct cs_stall s = {.op = &load, .cycles = 40, .m = 5, .begins_line = true};
    struct cs_verdict v = judge(&s);
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
    struct cs_stall s = {.op = &load, .cycles = 205, .m = 5, .bursts = true, .memory = chase(1 << 20)};
    s.memory.footprint_bytes = 2 << 20; /* third level: some 43 cycles at most a half more */
    s.memory.new_pages = 1;
    s.memory.footprint_pages = 30000; /* walks: 28 to 42 */
    struct cs_verdict v = judge(&s);
    const struct cs_suspect *d = find(&v, CS_CAUSE_DCACHE), *t = find(&v, CS_CAUSE_DTLB);
    assert_true(d && t);
    assert_true(d->share <= d->high && t->share <= t->high);
    assert_true(fabs(d->share + t->share + v.unexplained - v.stall) < 1e-6);
    assert_true(v.unexplained > 50);
}

static void only_a_store_that_misses_fills_the_store_buffer(void **state)
{
    (void)state;
    struct cs_stall s = {.op = &plain, .next = &store, .cycles = 20, .m = 1, .bursts = true};
    struct cs_verdict v = judge(&s);
    assert_null(find(&v, CS_CAUSE_STORE_BUFFER));
    s.missing_store = &store;
    s.missing_store_memory = chase(256 << 20);
    v = judge(&s);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_STORE_BUFFER);
    assert_int_equal(v.suspects[0].guilty, store.offset);
}

static void the_line_of_the_previous_instruction_clears_the_instruction_cache(void **state)
{
    (void)state;
    struct cs_stall s = {
        .op = &plain, .next = &load, .cycles = 10, .m = 0, .bursts = true, .code_bytes = 1 << 20};
    struct cs_verdict v = judge(&s);
    assert_null(find(&v, CS_CAUSE_ICACHE));
    s.begins_line = true;
    s.fetch = (struct cs_fetch_facts){.seen = true, .new_lines = 0.9};
    v = judge(&s);
    assert_int_equal(v.suspects[0].cause, CS_CAUSE_ICACHE);
    s.code_bytes = 20 << 10; /* all code that ran fits */
    v = judge(&s);
    assert_null(find(&v, CS_CAUSE_ICACHE));
}

static void blocked_loads_and_locks_and_splits_are_named(void **state)
{
    (void)state;
    struct cs_stall s = {.op = &load, .cycles = 19, .m = 4, .bursts = true};
    s.memory = (struct cs_memory_facts){.seen = true, .executions = 100, .blocked = 1};
    assert_int_equal(judge(&s).suspects[0].cause, CS_CAUSE_FORWARD);
    s.memory = (struct cs_memory_facts){.seen = true, .executions = 100, .split = 1};
    assert_int_equal(judge(&s).suspects[0].cause, CS_CAUSE_SPLIT);
    s.op = &locked;
    s.memory = (struct cs_memory_facts){.seen = true, .executions = 100};
    assert_int_equal(judge(&s).suspects[0].cause, CS_CAUSE_LOCK);
    s.op = &divide;
    assert_int_equal(judge(&s).suspects[0].cause, CS_CAUSE_DIVIDER);
}

static void denormals_are_named_only_when_nothing_else_explains(void **state)
{
    (void)state;
    struct cs_stall s = {.op = &multiply, .cycles = 150, .m = 4, .bursts = true};
    assert_int_equal(judge(&s).suspects[0].cause, CS_CAUSE_DENORMAL);
    s.cycles = 6;
    struct cs_verdict v = judge(&s);
    assert_null(find(&v, CS_CAUSE_DENORMAL));
}

static void counted_events_bound_what_their_cause_can_cost(void **state)
{
    (void)state;
    struct cs_machine m = machine();
    struct cs_stall s;
    struct cs_verdict v;
    cs_stall_init(&s, &load);
    s.cycles = 205;
    s.m = 5;
    s.bursts = true;
    s.memory = chase(256 << 20);
    s.event_rate[CS_CAUSE_DCACHE] = 0.1;
    cs_culprit_judge(&s, &m, &v);
    assert_true(fabs(find(&v, CS_CAUSE_DCACHE)->high - 35) < 1e-9);
    s.event_rate[CS_CAUSE_DCACHE] = 0;
    cs_culprit_judge(&s, &m, &v);
    assert_null(find(&v, CS_CAUSE_DCACHE));
}

static void running_faster_than_the_model_is_a_gain(void **state)
{
    (void)state;
    struct cs_stall s = {.op = &load, .cycles = 2, .m = 5, .bursts = true};
    struct cs_verdict v = judge(&s);
    assert_int_equal(v.n, 0);
    assert_true(v.gain == 3 && v.stall == 0 && v.unexplained == 0);
}

/* The invariants of culprit.h over random inputs. */
static void verdicts_keep_their_invariants(void **state)
{
    (void)state;
    const struct cs_op *const ops[] = {&load, &store, &branch, &plain, &divide, &locked, &multiply};
    srand(7);
#define DRAW() ((double)(rand() % 1001) / 1000)
    for (int i = 0; i < 20000; i++) {
        struct cs_stall s = {.op = ops[rand() % 7],
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
        s.branch = (struct cs_branch_facts){rand() % 2, 10, DRAW(), DRAW(), DRAW()};
        s.fetch = (struct cs_fetch_facts){rand() % 2, DRAW(), DRAW()};
        struct cs_verdict v = judge(&s);
        double share = 0, low = 0;
        for (unsigned k = 0; k < v.n; k++) {
            const struct cs_suspect *p = &v.suspects[k];
            assert_true(p->low >= 0 && p->low <= p->high + 1e-9 && p->share <= p->high + 1e-9);
            assert_true(k == 0 || p->share <= v.suspects[k - 1].share);
            share += p->share;
            low += p->low;
        }
        assert_true(fabs(share + v.unexplained - v.stall) < 1e-6);
        assert_true(low <= v.stall + 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_that_stays_in_near_lines_is_cleared_of_misses),
        cmocka_unit_test(a_chase_is_convicted_by_the_level_its_footprint_exceeds),
        cmocka_unit_test(a_footprint_that_fits_the_first_level_clears_the_cache),
        cmocka_unit_test(a_branch_that_is_always_guessed_cannot_be_mispredicted),
        cmocka_unit_test(without_bursts_everything_the_text_allows_stays_suspect),
        cmocka_unit_test(two_suspects_share_and_their_bounds_say_so),
        cmocka_unit_test(only_a_store_that_misses_fills_the_store_buffer),
        cmocka_unit_test(the_line_of_the_previous_instruction_clears_the_instruction_cache),
        cmocka_unit_test(blocked_loads_and_locks_and_splits_are_named),
        cmocka_unit_test(denormals_are_named_only_when_nothing_else_explains),
        cmocka_unit_test(counted_events_bound_what_their_cause_can_cost),
        cmocka_unit_test(running_faster_than_the_model_is_a_gain),
        cmocka_unit_test(verdicts_keep_their_invariants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
