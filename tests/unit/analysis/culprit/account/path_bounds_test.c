/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What bounds a path's steps besides the scheduling model, and which blocks a life of a loop goes through. */
#include "analysis/culprit/account/cycle_account_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { N = 12, WIDTH = 6 };

static struct cs_isa_op ops[N];
static struct cs_schedule_step steps[N];
static const struct cs_schedule_path closed = {.ops = ops, .n = N, .closed = true};

/* A time line whose gaps are all at one instruction: what a turn takes is `m`, its share of the width apart a wait. */
static void all_at_one(double m, double port, double dependency)
{
    memset(steps, 0, sizeof steps);
    steps[3] = (struct cs_schedule_step){
        .m = m, .execution = 1.0 / WIDTH, .port = port, .dependency = dependency, .producer = -1};
}

static void assert_parts_make_up(double m)
{
    double sum = 0, parts = 0;
    for (size_t i = 0; i < N; i++) {
        const struct cs_schedule_step *s = &steps[i];
        sum += s->m;
        parts += s->execution + s->dependency + s->port + s->divider + s->front;
        assert_true(fabs(s->m - s->execution - s->dependency - s->port - s->divider - s->front) < 1e-9);
    }
    assert_true(fabs(sum - m) < 1e-9 && fabs(parts - m) < 1e-9);
}

static void a_port_has_no_more_than_a_turn_takes_beyond_its_operations(void **state)
{
    (void)state;
    all_at_one(2.4, 2.4 - 1.0 / WIDTH, 0);
    account_bound_waits(&closed, steps, 1);
    assert_true(fabs(steps[3].port - 0.4) < 1e-9); /* 12 operations, 6 wide: 2 of 2.4 cycles */
    assert_parts_make_up(2.4);
    all_at_one(12, 12 - 1.0 / WIDTH, 0); /* one port has all */
    account_bound_waits(&closed, steps, 1);
    assert_true(fabs(steps[3].port - 10) < 1e-9);
    all_at_one(2.4, 2.4 - 1.0 / WIDTH, 0);
    ops[5].flags = CS_ISA_OP_GATHER; /* who knows how many operations that is */
    account_bound_waits(&closed, steps, 1);
    ops[5].flags = 0;
    assert_true(fabs(steps[3].port - (2.4 - 1.0 / WIDTH)) < 1e-9);
}

static void a_chain_that_goes_on_may_have_all_of_a_turn(void **state)
{
    (void)state;
    all_at_one(2.4, 0, 2.4 - 1.0 / WIDTH);
    account_bound_waits(&closed, steps, 1);
    assert_true(fabs(steps[3].dependency - (2.4 - 1.0 / WIDTH)) < 1e-9);
    assert_parts_make_up(2.4);
}

static void a_chain_that_begins_again_has_what_whole_lives_leave_it(void **state)
{
    (void)state;
    all_at_one(8, 0, 8 - 1.0 / WIDTH);
    account_bound_waits(&closed, steps, 0.5);
    assert_true(fabs(steps[3].dependency - 2) < 1e-9); /* 4 cycles a turn, 2 of them operations */
    assert_parts_make_up(4);
    all_at_one(8, 0, 8 - 1.0 / WIDTH);
    account_bound_waits(&closed, steps, 0.2); /* less than the core needs for its operations */
    assert_true(steps[3].dependency == 0);
    assert_parts_make_up(1.6);
}

static void what_an_operation_takes_is_not_read_from_a_fused_pair(void **state)
{
    (void)state;
    all_at_one(2.4, 2.4 - 1.0 / WIDTH, 0);
    steps[7].execution = 2.0 / WIDTH;
    steps[8].fused = true;
    assert_true(fabs(account_operation_cycles(steps, N) - 1.0 / WIDTH) < 1e-9);
}

/* Block 1 is a loop of 6 instructions, left for block 2 of 5 instructions, from where it is entered again. */
enum { ENTRY_TO_LOOP, AGAIN, LEFT, ENTERED, ENDS, N_EDGES, N_BLOCKS = 4 };

static struct cs_cfg_edge edges[N_EDGES] = {[ENTRY_TO_LOOP] = {.from = 0, .to = 1},
                                            [AGAIN] = {.from = 1, .to = 1},
                                            [LEFT] = {.from = 1, .to = 2},
                                            [ENTERED] = {.from = 2, .to = 1},
                                            [ENDS] = {.from = 2, .to = 3}};
static struct cs_basic_block graph[N_BLOCKS] = {{.n_insns = 1, .n_out = 1},
                                                {.first_insn = 1, .n_insns = 6, .first_out = 1, .n_out = 2},
                                                {.first_insn = 7, .n_insns = 5, .first_out = 3, .n_out = 2},
                                                {.first_insn = 12, .n_insns = 1, .first_out = 5}};

static uint32_t life_of(double turns, double comes_back, uint32_t flags, bool counted, uint32_t *life)
{
    static const uint32_t loop[] = {1};
    struct cs_cfg cfg = {.blocks = graph, .edges = edges, .n_blocks = N_BLOCKS, .n_edges = N_EDGES};
    struct cs_cycle_account_block blocks[N_BLOCKS] = {
        {.visits = 1}, {.visits = turns * 100}, {.visits = 100}, {.visits = 100 - comes_back}};
    struct cs_cycle_account_insn insns[13] = {{.visits = 0}};
    struct cs_cycle_account a = {.cfg = &cfg, .blocks = blocks, .insns = insns, .frequencies = counted};
    double visits[N_EDGES] = {1, (turns - 1) * 100, 100, comes_back, 100 - comes_back};
    const struct accounting x = {.a = &a, .edge_visits = visits};
    insns[9].op.flags = flags;
    return account_life(&x, loop, 1, 400, life, 100);
}

static void a_life_is_its_turns_and_the_way_to_the_next(void **state)
{
    (void)state;
    uint32_t life[100];
    assert_int_equal(life_of(5, 99, 0, true, life), 6);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(life[i], 1);
    assert_int_equal(life[5], 2);
    assert_int_equal(life_of(1.1, 99, 0, true, life), 2);
}

static void lives_that_are_long_or_that_do_not_follow_one_another_say_nothing(void **state)
{
    (void)state;
    uint32_t life[100];
    assert_int_equal(life_of(80, 99, 0, true, life), 0); /* 480 instructions */
    assert_int_equal(life_of(5, 20, 0, true, life), 0);  /* most aren't entered again from there */
    assert_int_equal(life_of(5, 99, CS_ISA_OP_CALL, true, life), 0);    /* what it calls isn't on the path */
    assert_int_equal(life_of(5, 99, CS_ISA_OP_SYSCALL, true, life), 0); /* nor is the kernel */
    assert_int_equal(life_of(5, 99, 0, false, life), 0);                /* no burst saw it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_has_no_more_than_a_turn_takes_beyond_its_operations),
        cmocka_unit_test(a_chain_that_goes_on_may_have_all_of_a_turn),
        cmocka_unit_test(a_chain_that_begins_again_has_what_whole_lives_leave_it),
        cmocka_unit_test(what_an_operation_takes_is_not_read_from_a_fused_pair),
        cmocka_unit_test(a_life_is_its_turns_and_the_way_to_the_next),
        cmocka_unit_test(lives_that_are_long_or_that_do_not_follow_one_another_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
