/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verdicts on layouts that are drawn here. Each build of a program has its own layout, and layouts differ by
 * some per cent. Only comparisons that look slower are judged, as gate does. */
#include "cli/gate/turns/relink.h"
#include "tests/unit/test.h"

#include <math.h>

#define NOISE 0.004 /* standard error of a timed difference */

struct tally {
    unsigned slower, layout, untold;
};

static double normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sum += (double)(*state >> 11) / (double)(UINT64_C(1) << 53);
    }
    return sum;
}

/* A thousand comparisons that look slower, of programs that are slower by `growth`. */
static struct tally judge(double growth, double layouts, bool base_too, uint64_t state)
{
    struct tally of = {0};
    while (of.slower + of.layout + of.untold < 1000) {
        struct gate_check pace = {.name = "pace", .known = true, .verdict = GATE_CANT_TELL};
        struct gate gate = {.limits = {GATE_IGNORE_BELOW, GATE_MUST_SEE},
                            .check = &pace,
                            .n_checks = 1,
                            .base_relinked = base_too};
        const double base = layouts * normal(&state);
        pace.estimate.change = expm1(growth + layouts * normal(&state) - base + NOISE * normal(&state));
        pace.estimate.chance = pace.estimate.change > 5 * NOISE ? 0 : 1;
        if (!gate_may_be_layout(&gate))
            continue;
        for (; gate.n_layouts < GATE_LAYOUTS_MAX; gate.n_layouts++)
            gate.layout[gate.n_layouts].estimate = (struct gate_estimate){
                .change = expm1(growth + layouts * normal(&state) -
                                (base_too ? layouts * normal(&state) : base) + NOISE * normal(&state)),
                .error = NOISE};
        gate_judge_layouts(&gate);
        of.slower += pace.verdict == GATE_SLOWER;
        of.layout += pace.verdict == GATE_LAYOUT;
        of.untold += pace.verdict == GATE_CANT_TELL;
    }
    return of;
}

TEST(a_layouts_difference_is_never_a_loss)
{
    for (unsigned k = 1; k <= 3; k++) {
        const struct tally of = judge(0, 0.01 * k, true, k);
        assert_in_range(of.slower, 0, 1);
        print_message("layouts differ by %u %%: %u layout, %u slower, %u untold\n", k, of.layout, of.slower,
                      of.untold);
        assert_int_equal(judge(0, 0.01 * k, false, k).slower, 0); /* the base's luck is no evidence */
    }
    assert_in_range(judge(0, 0.02, true, 7).layout, 400, 1000);
}

TEST(a_loss_is_never_a_layouts)
{
    for (unsigned k = 1; k <= 3; k++) {
        const struct tally of = judge(0.05, 0.01 * k, true, k + 10);
        print_message("5 %% slower, layouts differ by %u %%: %u layout, %u slower, %u untold\n", k, of.layout,
                      of.slower, of.untold);
        assert_in_range(of.layout, 0, 10);
    }
    assert_in_range(judge(0.05, 0.01, true, 20).slower, 900, 1000);
}

/* Of bases that aren't relinked some are slow: their loss must not go by layout's name. */
TEST(a_loss_against_one_slow_base_is_never_a_layouts)
{
    for (unsigned k = 1; k <= 3; k++) {
        const struct tally of = judge(0.05, 0.01 * k, false, k + 30);
        print_message("5 %% slower, one base, layouts differ by %u %%: %u layout, %u slower, %u untold\n", k,
                      of.layout, of.slower, of.untold);
        assert_in_range(of.layout, 0, 10);
        assert_int_equal(of.slower, 0);
    }
    /* Where the head alone has a slow layout it still is one. */
    assert_in_range(judge(0, 0.005, false, 40).layout, 250, 1000);
}

TEST(few_layouts_are_no_evidence)
{
    struct gate_check pace = {
        .name = "pace", .known = true, .verdict = GATE_SLOWER, .estimate = {.change = 0.1}};
    struct gate gate = {.check = &pace, .n_checks = 1, .n_layouts = 3, .base_relinked = true};
    gate_judge_layouts(&gate);
    assert_int_equal(pace.verdict, GATE_SLOWER);
    assert_int_equal(gate.n_notes, 1);
}

TEST(more_work_is_no_layout)
{
    struct gate_check check[] = {
        {.name = "work", .verdict = GATE_SLOWER},
        {.name = "pace", .known = true, .verdict = GATE_SLOWER, .estimate = {.change = 0.1}}};
    struct gate gate = {.limits = {GATE_IGNORE_BELOW, GATE_MUST_SEE}, .check = check, .n_checks = 2};
    assert_false(gate_may_be_layout(&gate));
    check[0].verdict = GATE_SAME;
    assert_true(gate_may_be_layout(&gate));
    check[1].estimate.change = 0.005;
    assert_false(gate_may_be_layout(&gate));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layouts_difference_is_never_a_loss),
        cmocka_unit_test(a_loss_is_never_a_layouts),
        cmocka_unit_test(a_loss_against_one_slow_base_is_never_a_layouts),
        cmocka_unit_test(few_layouts_are_no_evidence),
        cmocka_unit_test(more_work_is_no_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
