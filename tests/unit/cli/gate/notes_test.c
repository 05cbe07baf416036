/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The notes next to a verdict, by evidence that is written here. */
#include "cli/gate/notes.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

#define RUNS 8

static bool turns;
static size_t rows; /* functions that grew by 2.5 % each */

/* Of runs whose system calls were `calls` each; NAN: not counted. */
static void say(struct gate *gate, enum gate_verdict verdict, double change, double common, double calls,
                size_t few)
{
    struct gate_run run[2][RUNS];
    double alone[RUNS];
    struct gate_evidence e = {.comparison.common_factor = common, .functions.n_runs = RUNS, .alone = alone};
    for (size_t r = 0; r < RUNS; r++) {
        run[0][r] = run[1][r] = (struct gate_run){r % 2, r, 100, (double)NAN};
        run[1][r].value = calls;
        alone[r] = 1;
    }
    e.count[GATE_FAULTS] = run[0];
    e.count[GATE_SYSTEM_CALLS] = run[1];
    e.timed.few[0] = e.timed.few[1] = few;
    *gate = (struct gate){.turns = turns, .n_guilty = rows};
    for (size_t i = 0; i < rows; i++)
        gate->guilty[i] = (struct gate_guilty){.kind = "function", .share = 2.5};
    struct gate_check *pace = gate_add(gate, "pace", "", "s");
    assert_non_null(pace);
    pace->known = true;
    pace->verdict = verdict;
    pace->estimate =
        (struct gate_estimate){.change = change, .visible = 0.16, .runs = {4, 4}, .machine = (double)NAN};
    gate_say_notes(gate, &e, true);
    gate->n_guilty = 0; /* nothing of these rows is to be freed */
}

static bool has(const struct gate *gate, const char *text)
{
    for (size_t i = 0; i < gate->n_notes; i++)
        if (strstr(gate->note[i], text))
            return true;
    return false;
}

TEST(calls_that_were_not_counted_are_told)
{
    struct gate gate;
    say(&gate, GATE_SAME, 0, 1, (double)NAN, 0);
    assert_true(has(&gate, "System calls were not counted"));
    gate_fini(&gate);
    say(&gate, GATE_SAME, 0, 1, 100, 0);
    assert_int_equal(gate.n_notes, 0);
    gate_fini(&gate);
}

TEST(few_timed_runs_leave_the_pace_to_the_recorded_ones)
{
    struct gate gate;
    say(&gate, GATE_CANT_TELL, 0, 1, 100, 5);
    assert_true(has(&gate, "judged by the 4 and 4 recorded runs, which would show a growth of 16.0 %"));
    assert_true(has(&gate, "only 5 and 5 runs were timed, and 6 of each are needed"));
    gate_fini(&gate);
}

/* All functions changed: by the machine, or, where the pace did for sure and by as much, by what they share. */
TEST(what_all_functions_share_is_told)
{
    struct gate gate;
    say(&gate, GATE_SAME, 0.001, 1.02, 100, 0);
    assert_true(has(&gate, "The median function changed by +2.00 %"));
    gate_fini(&gate);
    say(&gate, GATE_SLOWER, 0.03, 1.02, 100, 0);
    assert_true(has(&gate, "Half of the functions changed by +2.00 % or more"));
    gate_fini(&gate);
    rows = 1; /* but a function has most of it */
    say(&gate, GATE_SLOWER, 0.03, 1.02, 100, 0);
    rows = 0;
    assert_true(has(&gate, "The median function changed by +2.00 %"));
    gate_fini(&gate);
    say(&gate, GATE_SLOWER, 0.03, 0.96, 100, 0); /* the pace grew: that isn't it */
    assert_true(has(&gate, "The median function changed by -4.00 %"));
    gate_fini(&gate);
    say(&gate, GATE_SLOWER, 0.03, 1.002, 100, 0);
    assert_int_equal(gate.n_notes, 0);
    gate_fini(&gate);
}

TEST(none_were_timed_although_some_were_to_be)
{
    struct gate gate;
    say(&gate, GATE_CANT_TELL, 0, 1, 100, 0);
    assert_int_equal(gate.n_notes, 0); /* stores from elsewhere */
    gate_fini(&gate);
    turns = true;
    say(&gate, GATE_CANT_TELL, 0, 1, 100, 0);
    turns = false;
    assert_true(has(&gate, "only 0 and 0 runs were timed"));
    gate_fini(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_were_not_counted_are_told),
        cmocka_unit_test(few_timed_runs_leave_the_pace_to_the_recorded_ones),
        cmocka_unit_test(what_all_functions_share_is_told),
        cmocka_unit_test(none_were_timed_although_some_were_to_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
