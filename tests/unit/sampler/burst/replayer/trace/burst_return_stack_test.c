/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a return stack guesses, against what a Zen 4 took for the same calls (docs/lab/culprits.md). Functions in a ring of
 * `period` call one another to a depth, and return. */
#include "sampler/burst/replayer/trace/return_stack.h"
#include "tests/unit/test.h"

#include <string.h>

static const struct return_stack_model ring32 = {.places = 32};
static struct return_stack stack;
static unsigned outcomes[4];

static void begin(struct return_stack_model model)
{
    return_stack_begin(&stack, model);
    memset(outcomes, 0, sizeof outcomes);
}

/* Behind the call of the function that runs at `level`. */
static uint64_t behind(unsigned level, unsigned period)
{
    return 1000 + 64 * (level % period);
}

static void descend(unsigned from, unsigned to, unsigned period)
{
    for (unsigned level = from; level < to; level++)
        return_stack_call(&stack, 7, behind(level, period));
}

static void ascend(unsigned from, unsigned to, unsigned period)
{
    for (unsigned level = from; level > to; level--)
        outcomes[return_stack_return(&stack, behind(level - 1, period), 0)]++;
}

static unsigned too_deep(unsigned depth, unsigned period)
{
    begin(ring32);
    for (int pass = 0; pass < 2; pass++) {
        memset(outcomes, 0, sizeof outcomes);
        descend(0, depth, period);
        ascend(depth, 0, period);
    }
    assert_int_equal(outcomes[RETURN_ELSEWHERE], 0);
    assert_int_equal(outcomes[RETURN_UNKNOWN], 0);
    return outcomes[RETURN_TOO_DEEP];
}

TEST(as_many_calls_as_places_are_right)
{
    assert_int_equal(too_deep(20, 3), 0);
    assert_int_equal(too_deep(32, 33), 0);
}

TEST(each_return_from_beyond_is_wrong)
{
    assert_int_equal(too_deep(33, 64), 1);
    assert_int_equal(too_deep(48, 7), 16);
    assert_int_equal(too_deep(200, 31), 168);
    assert_int_equal(too_deep(200, 9), 168);
}

/* Measured: 1.4 cycles of the clock a return, as with one call site, in place of 9 to 13. */
TEST(what_a_deeper_call_left_may_be_right)
{
    const unsigned divide[] = {1, 2, 4, 8, 16, 32};
    for (unsigned i = 0; i < sizeof divide / sizeof *divide; i++)
        assert_int_equal(too_deep(200, divide[i]), 0);
    assert_int_equal(too_deep(200, 3), 128); /* 96 and 192 further up: 76 %, measured 75 */
    assert_int_equal(too_deep(200, 64), 96); /* every second turn of the ring: 57 %, measured 57 */
    assert_int_equal(too_deep(200, 5), 136); /* 160 further up: 81 %, measured 80 */
}

TEST(nothing_is_said_of_calls_before_the_burst)
{
    begin(ring32);
    ascend(32, 0, 5);
    assert_int_equal(outcomes[RETURN_UNKNOWN], 32);
    begin(ring32);
    ascend(200, 0, 5);
    assert_int_equal(outcomes[RETURN_UNKNOWN], 32); /* from there on the ring has gone round */
    assert_true(outcomes[RETURN_TOO_DEEP] > 100);
    assert_int_equal(outcomes[RETURN_ELSEWHERE], 0);
}

TEST(a_switch_of_stacks_is_not_depth)
{
    begin(ring32);
    descend(0, 10, 64);
    for (unsigned level = 10; level > 0; level--)
        outcomes[return_stack_return(&stack, 99999, 0)]++;
    assert_int_equal(outcomes[RETURN_ELSEWHERE], 10);
    assert_int_equal(outcomes[RETURN_TOO_DEEP], 0);
}

TEST(a_call_for_its_own_address_is_not_kept)
{
    begin(ring32);
    return_stack_call(&stack, 7, 500);
    return_stack_call(&stack, 600, 600);
    assert_int_equal(return_stack_return(&stack, 500, 0), RETURN_RIGHT);
}

TEST(one_that_falls_back_guesses_the_last_target)
{
    begin((struct return_stack_model){.places = 32, .falls_back = true});
    descend(0, 40, 64);
    ascend(40, 8, 64);
    assert_int_equal(outcomes[RETURN_RIGHT], 32);
    assert_int_equal(return_stack_return(&stack, behind(7, 64), behind(7, 64)), RETURN_RIGHT);
    assert_int_equal(return_stack_return(&stack, behind(6, 64), 1), RETURN_TOO_DEEP);
}

TEST(places_by_processor)
{
    assert_int_equal(return_stack_model_of("AuthenticAMD", 0x19).places, 32);
    assert_int_equal(return_stack_model_of("AuthenticAMD", 0x1a).places, 52);
    assert_int_equal(return_stack_model_of("HygonGenuine", 0x18).places, 32);
    assert_int_equal(return_stack_model_of("AuthenticAMD", 0x15).places, 0);
    assert_int_equal(return_stack_model_of("GenuineIntel", 6).places, 32);
    assert_true(return_stack_model_of("GenuineIntel", 6).falls_back);
    assert_int_equal(return_stack_model_of("CentaurHauls", 6).places, 0);
    begin(return_stack_model_of("CentaurHauls", 6));
    descend(0, 50, 3);
    ascend(50, 0, 3);
    assert_int_equal(outcomes[RETURN_UNKNOWN], 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_calls_as_places_are_right),
        cmocka_unit_test(each_return_from_beyond_is_wrong),
        cmocka_unit_test(what_a_deeper_call_left_may_be_right),
        cmocka_unit_test(nothing_is_said_of_calls_before_the_burst),
        cmocka_unit_test(a_switch_of_stacks_is_not_depth),
        cmocka_unit_test(a_call_for_its_own_address_is_not_kept),
        cmocka_unit_test(one_that_falls_back_guesses_the_last_target),
        cmocka_unit_test(places_by_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
