/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pace grew by 3 % and the work didn't: what the verdict is, by the causes that were found. */
#include "cli/gate/causes/cause.h"
#include "cli/gate/causes/cause_compare.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

/* A function that grew by `share` percent of the base's run of 1 s, all of it by `cause` ("": none was found). */
static struct gate_guilty function_of(double share, const char *cause, bool candidate)
{
    struct gate_guilty g = {.function = strdup("walk"),
                            .image = strdup("app"),
                            .kind = "function",
                            .base = 0.1,
                            .head = 0.1 + share / 100,
                            .share = share,
                            .cause_growth = *cause ? share / 100 : 0,
                            .candidate = candidate};
    assert_true(g.function && g.image);
    strcpy(g.cause, cause);
    return g;
}

static void assert_settled(double share, const char *cause, bool candidate, enum gate_verdict verdict,
                           size_t shown)
{
    struct gate gate = {.unproven = true, .n_guilty = 1, .n_guilty_all = 1};
    struct gate_check *pace = gate_add(&gate, "pace", "", "s");
    assert_non_null(pace);
    pace->verdict = GATE_LAYOUT;
    pace->estimate.change = 0.03;
    gate.guilty[0] = function_of(share, cause, candidate);
    gate_settle_layout(&gate);
    assert_int_equal(pace->verdict, verdict);
    assert_int_equal(gate.n_guilty, shown);
    gate_fini(&gate);
}

TEST(a_cause_that_grew_is_no_layout)
{
    assert_settled(2.8, "d-cache", false, GATE_SLOWER, 1);
    assert_settled(2.8, GATE_MEMORY, true, GATE_SLOWER, 1);
    assert_settled(2.8, "mispredict", true, GATE_SLOWER, 1);
}

TEST(a_cause_of_places_is_layout)
{
    assert_settled(2.8, "front-end", false, GATE_LAYOUT, 1);
    assert_settled(2.8, "split", true, GATE_LAYOUT, 1);
}

/* Without a cause, or with one of a small part of the growth, nothing tells. Only a function that surely grew is shown then. */
TEST(without_a_cause_nothing_tells)
{
    assert_settled(2.8, "", false, GATE_CANT_TELL, 1);
    assert_settled(2.8, "", true, GATE_CANT_TELL, 0);
    assert_settled(1.2, "d-cache", false, GATE_CANT_TELL, 1);
}

TEST(what_relinking_proved_stays)
{
    struct gate gate = {.unproven = false};
    struct gate_check *pace = gate_add(&gate, "pace", "", "s");
    assert_non_null(pace);
    pace->verdict = GATE_LAYOUT;
    gate_settle_layout(&gate);
    assert_int_equal(pace->verdict, GATE_LAYOUT);
    gate_fini(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cause_that_grew_is_no_layout),
        cmocka_unit_test(a_cause_of_places_is_layout),
        cmocka_unit_test(without_a_cause_nothing_tells),
        cmocka_unit_test(what_relinking_proved_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
