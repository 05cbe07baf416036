/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an experiment does to the model's steps, and on which paths made-up values may decide. */
#include "analysis/culprit/account/cycle_account_internal.h"
#include "tests/unit/test.h"

#include <math.h>

static struct cs_schedule_step steps[2];

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

/* A turn of 6 cycles, of which 2 are execution. */
static void scale(double cycles)
{
    steps[0] = (struct cs_schedule_step){.m = 4, .execution = 1, .dependency = 2, .port = 1};
    steps[1] = (struct cs_schedule_step){.m = 2, .execution = 1, .divider = 0.5, .front = 0.5};
    account_scale_path(steps, 2, cycles);
    for (int i = 0; i < 2; i++)
        assert_true(near(steps[i].m, steps[i].execution + steps[i].dependency + steps[i].port +
                                         steps[i].divider + steps[i].front));
}

TEST(less_time_than_the_model_has_takes_stalls_away_first)
{
    scale(4);
    assert_true(near(steps[0].m + steps[1].m, 4) && near(steps[0].execution, 1) &&
                near(steps[1].execution, 1));
    assert_true(near(steps[0].dependency, 1) && near(steps[0].port, 0.5) && near(steps[1].front, 0.25));
    scale(1);
    assert_true(near(steps[0].m + steps[1].m, 1) && steps[0].dependency <= 0 &&
                near(steps[0].execution, 0.5));
}

TEST(more_time_than_the_model_has_leaves_the_shares_of_causes)
{
    scale(12);
    assert_true(near(steps[0].m, 8) && near(steps[0].dependency, 4) && near(steps[1].execution, 2));
}

TEST(without_a_figure_the_model_s_steps_stay)
{
    scale(0);
    assert_true(near(steps[0].m, 4) && near(steps[1].m, 2));
}

#define BY_VALUES(...) by_values((const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__})
static bool by_values(const uint8_t *bytes, size_t size)
{
    struct cs_isa_op ops[8];
    struct cs_schedule_path path = {.ops = ops, .closed = true};
    for (size_t at = 0; at < size; at += ops[path.n++].length)
        cs_isa_op_decode(CS_ISA_X86_64, bytes + at, size - at, 0x1000 + at, &ops[path.n]);
    return account_by_values(&path);
}

TEST(divisions_locks_and_a_second_branch_depend_on_values)
{
    assert_true(BY_VALUES(0x48, 0xf7, 0xf1, 0x75, 0xfb));             /* div %rcx; jne */
    assert_true(BY_VALUES(0xf2, 0x0f, 0x5e, 0xc1, 0x75, 0xfa));       /* divsd %xmm1, %xmm0; jne */
    assert_true(BY_VALUES(0xf0, 0x48, 0xff, 0x07, 0x75, 0xfa));       /* lock incq (%rdi); jne */
    assert_true(BY_VALUES(0x75, 0x00, 0x48, 0x01, 0xc8, 0x75, 0xf9)); /* jne; add %rcx, %rax; jne */
    assert_false(BY_VALUES(0x48, 0x01, 0xc8, 0x75, 0xfb));            /* add %rcx, %rax; jne */
}

/* mov %rax, (%rdi); mov DISPLACEMENT(BASE), %rcx; jne */
TEST(a_load_near_a_store_of_the_same_registers_may_be_of_what_was_stored)
{
    assert_true(BY_VALUES(0x48, 0x89, 0x07, 0x48, 0x8b, 0x4f, 0x08, 0x75, 0xf7)); /* 8(%rdi) */
    assert_true(BY_VALUES(0x48, 0x89, 0x07, 0x48, 0x8b, 0x4f, 0xf8, 0x75, 0xf7)); /* -8(%rdi) */
    assert_false(
        BY_VALUES(0x48, 0x89, 0x07, 0x48, 0x8b, 0x4f, 0x40, 0x75, 0xf7)); /* 64(%rdi): another line */
    assert_false(BY_VALUES(0x48, 0x89, 0x07, 0x48, 0x8b, 0x4e, 0x08, 0x75, 0xf7)); /* 8(%rsi) */
}

/* imul %rax, %rax; jne to the next; jne back: 3 cycles, and a branch whose values are made up. */
TEST(what_takes_longer_than_the_model_says_is_believed_unless_values_decide)
{
    static const uint8_t bytes[] = {0x48, 0x0f, 0xaf, 0xc0, 0x75, 0x00, 0x75, 0xf8};
    enum { TRIES = 50 };
    struct cs_isa_op ops[3];
    struct cs_schedule_path path = {.ops = ops, .closed = true};
    for (size_t at = 0; at < sizeof bytes; at += ops[path.n++].length)
        cs_isa_op_decode(CS_ISA_X86_64, bytes + at, sizeof bytes - at, 0x1000 + at, &ops[path.n]);
    struct cs_experiments *e = cs_experiments_open(NULL, 5 * TRIES);
    enum cs_experiment_why why = CS_EXPERIMENT_NOISY, same = CS_EXPERIMENT_NOISY, more = CS_EXPERIMENT_NOISY,
                           much = CS_EXPERIMENT_NOISY;
    double cycles = -1, none = -1;
    for (int k = 0; k < TRIES && why != CS_EXPERIMENT_DONE && why != CS_EXPERIMENT_VALUES; k++)
        why = account_experiment(e, &path, 100, &cycles);
    for (int k = 0; k < TRIES && same != CS_EXPERIMENT_VALUES && why == CS_EXPERIMENT_DONE; k++)
        same = account_experiment(e, &path, 2, &none);
    ops[1] = ops[2]; /* no branch within */
    path.n = 2;
    for (int k = 0; k < TRIES && much != CS_EXPERIMENT_VALUES && why == CS_EXPERIMENT_DONE; k++)
        much = account_experiment(e, &path, 1, &none);
    for (int k = 0; k < TRIES && more != CS_EXPERIMENT_DONE && why == CS_EXPERIMENT_DONE; k++)
        more = account_experiment(e, &path, 2, &none);
    cs_experiments_close(e);
    if (why == CS_EXPERIMENT_OFF || why == CS_EXPERIMENT_FAILED || why == CS_EXPERIMENT_RIGHTS ||
        why == CS_EXPERIMENT_NOISY || same == CS_EXPERIMENT_NOISY || much == CS_EXPERIMENT_NOISY ||
        more == CS_EXPERIMENT_NOISY)
        skip(); /* other work has the core in all of many tries */
    assert_int_equal(why, CS_EXPERIMENT_DONE);
    assert_true(cycles > 2 && cycles < 100);
    assert_int_equal(same, CS_EXPERIMENT_VALUES);
    assert_int_equal(much, CS_EXPERIMENT_VALUES); /* three times the model's */
    assert_int_equal(more, CS_EXPERIMENT_DONE);
    assert_true(none > 2); /* for what is compared with it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(less_time_than_the_model_has_takes_stalls_away_first),
        cmocka_unit_test(more_time_than_the_model_has_leaves_the_shares_of_causes),
        cmocka_unit_test(without_a_figure_the_model_s_steps_stay),
        cmocka_unit_test(what_takes_longer_than_the_model_says_is_believed_unless_values_decide),
        cmocka_unit_test(divisions_locks_and_a_second_branch_depend_on_values),
        cmocka_unit_test(a_load_near_a_store_of_the_same_registers_may_be_of_what_was_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
