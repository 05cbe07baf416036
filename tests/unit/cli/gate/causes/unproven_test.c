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

/* One row of a pace that is 3 % slower. */
static enum gate_verdict settled(struct gate_guilty row)
{
    struct gate gate = {.unproven = true, .n_guilty = 1, .n_guilty_all = 1};
    struct gate_check *pace = gate_add(&gate, "pace", "", "s");
    assert_non_null(pace);
    pace->verdict = GATE_LAYOUT;
    pace->estimate.change = 0.03;
    gate.guilty[0] = row;
    gate_settle_layout(&gate);
    const enum gate_verdict verdict = pace->verdict;
    gate_fini(&gate);
    return verdict;
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
    gate.guilty[0].sure_cause = true;
    gate_settle_layout(&gate);
    assert_int_equal(pace->verdict, verdict);
    assert_int_equal(gate.n_guilty, shown);
    gate_fini(&gate);
}

TEST(a_cause_that_grew_is_no_layout)
{
    assert_settled(2.8, "d-cache", false, GATE_SLOWER, 1);
    assert_settled(2.8, GATE_MEMORY, true, GATE_SLOWER, 1);
    assert_settled(2.8, "dtlb", true, GATE_SLOWER, 1);
}

TEST(a_cause_of_places_is_layout)
{
    assert_settled(2.8, "front-end", false, GATE_LAYOUT, 1);
    assert_settled(2.8, "split", true, GATE_LAYOUT, 1);
}

/* Equal programs, linked otherwise: a port had more of a function's time by chance. Nor is a miss evidence that recordings vary by. */
TEST(what_layout_or_chance_may_have_made_is_no_evidence)
{
    struct gate_guilty row = function_of(2.8, "port", true);
    assert_int_equal(settled(row), GATE_CANT_TELL);
    row = function_of(2.8, "d-cache", false);
    assert_int_equal(settled(row), GATE_CANT_TELL);
    row = function_of(2.8, "d-cache", false);
    row.sure_cause = true;
    assert_int_equal(settled(row), GATE_SLOWER);
}

/* Its counts differ by a few: it hashes addresses, or it is other code. */
TEST(a_function_that_hashes_addresses_is_no_evidence)
{
    struct gate_guilty row = function_of(2.8, "dtlb", false);
    row.sure_cause = row.differs = true;
    assert_int_equal(settled(row), GATE_CANT_TELL);
    row = function_of(2.8, "", false);
    row.differs = row.other_code = true;
    assert_int_equal(settled(row), GATE_SLOWER);
    row = function_of(2.8, "", true);
    row.differs = row.other_code = true;
    assert_int_equal(settled(row), GATE_CANT_TELL);
}

/* Without a cause, or with one of a small part of the growth, nothing tells. Only a function that surely grew is shown then. */
TEST(without_a_cause_nothing_tells)
{
    assert_settled(2.8, "", false, GATE_CANT_TELL, 1);
    assert_settled(2.8, "", true, GATE_CANT_TELL, 0);
    assert_settled(1.2, "d-cache", false, GATE_CANT_TELL, 1);
}

/* A pace that is slower by more than chance: who has most of it is shown, and how sure that is. */
TEST(who_has_most_of_a_growth_is_shown)
{
    for (unsigned k = 0; k < 3; k++) {
        struct gate gate = {.n_guilty = 1, .n_guilty_all = 1};
        struct gate_check *pace = gate_add(&gate, "pace", "", "s");
        char text[200];
        assert_non_null(pace);
        pace->verdict = k < 2 ? GATE_SLOWER : GATE_CANT_TELL;
        pace->known = true;
        gate.guilty[0] = function_of(2.8, "", true);
        gate.guilty[0].dominant = k > 0;
        gate_settle_layout(&gate);
        assert_int_equal(gate.n_guilty, k == 1 ? 1 : 0);
        gate_sentence(&gate, text, sizeof text);
        assert_int_equal(strstr(text, "most in walk, perhaps") != NULL, k == 1);
        if (k == 1)
            assert_string_equal(gate.guilty[0].cause_text, "its growth alone may be chance");
        gate_fini(&gate);
    }
}

/* A wait that is a smaller share, and a function that may be chance: the wait is what the verdict rests on, if it does. */
TEST(what_is_sure_comes_first_where_waits_grew)
{
    for (unsigned grew = 0; grew < 2; grew++) {
        struct gate gate = {.n_guilty = 3, .n_guilty_all = 3};
        struct gate_check *pace = gate_add(&gate, "pace", "", "s");
        assert_non_null(pace);
        pace->verdict = GATE_SLOWER;
        struct gate_check *waits = gate_add(&gate, "waits", "", "s");
        assert_non_null(waits);
        waits->verdict = grew ? GATE_SLOWER : GATE_SAME;
        gate.guilty[0] = function_of(2.8, "", true);
        gate.guilty[0].dominant = true;
        gate.guilty[1] = function_of(1.4, "mutex", false);
        strcpy(gate.guilty[1].kind, "mutex");
        gate.guilty[2] = function_of(1.2, "disk", false);
        strcpy(gate.guilty[2].kind, "disk");
        gate_settle_layout(&gate);
        assert_int_equal(gate.n_guilty, 3);
        assert_string_equal(gate.guilty[grew ? 0 : 1].kind, "mutex");
        assert_string_equal(gate.guilty[grew ? 1 : 2].kind, "disk");
        assert_true(gate.guilty[grew ? 2 : 0].candidate);
        gate_fini(&gate);
    }
}

static bool has(const struct gate *gate, const char *text)
{
    for (size_t i = 0; i < gate->n_notes; i++)
        if (strstr(gate->note[i], text))
            return true;
    return false;
}

/* A pace that is slower, and nothing else changed. */
static void slower(struct gate *gate, enum gate_verdict verdict)
{
    *gate = (struct gate){.time_only = true};
    struct gate_check *pace = gate_add(gate, "pace", "", "s");
    assert_non_null(pace);
    pace->verdict = verdict;
    pace->known = true;
}

TEST(a_pace_without_functions_says_what_shows_them)
{
    struct gate gate;
    slower(&gate, GATE_SLOWER);
    gate_settle_layout(&gate);
    assert_true(has(&gate, "No function's growth is beyond chance"));
    gate_fini(&gate);
    slower(&gate, GATE_SAME);
    gate_settle_layout(&gate);
    assert_int_equal(gate.n_notes, 0);
    gate_fini(&gate);
}

/* Not below a row that has a cause. */
TEST(time_that_grew_alone_is_explained_by_a_cause)
{
    struct gate gate;
    for (unsigned cause = 0; cause < 2; cause++) {
        slower(&gate, GATE_SLOWER);
        gate.n_guilty = gate.n_guilty_all = 1;
        gate.guilty[0] = function_of(2.8, cause ? "mispredict" : "", false);
        gate_settle_layout(&gate);
        assert_int_equal(has(&gate, "Time changed and work did not"), !cause);
        assert_false(has(&gate, "No function's growth"));
        gate_fini(&gate);
    }
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
        cmocka_unit_test(what_layout_or_chance_may_have_made_is_no_evidence),
        cmocka_unit_test(a_function_that_hashes_addresses_is_no_evidence),
        cmocka_unit_test(without_a_cause_nothing_tells),
        cmocka_unit_test(who_has_most_of_a_growth_is_shown),
        cmocka_unit_test(what_is_sure_comes_first_where_waits_grew),
        cmocka_unit_test(a_pace_without_functions_says_what_shows_them),
        cmocka_unit_test(time_that_grew_alone_is_explained_by_a_cause),
        cmocka_unit_test(what_relinking_proved_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
