/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/explain/explain.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static struct stand_out row(const char *kind, unsigned line, double saves)
{
    struct stand_out r = stand_out_of(kind);
    r.line = line;
    r.percent = r.saves = saves;
    snprintf(r.file, sizeof r.file, "a.c");
    snprintf(r.function, sizeof r.function, "f");
    return r;
}

static void add(struct stand_outs *all, const char *kind, unsigned line, double saves)
{
    const struct stand_out r = row(kind, line, saves);
    stand_outs_add(all, &r);
}

TEST(what_could_save_most_comes_first)
{
    struct stand_outs all = {.n = 0};
    add(&all, "call", 1, 5);
    add(&all, "wait", 2, 20);
    add(&all, "search", 3, 10);
    assert_int_equal(all.n, 3);
    assert_int_equal(all.at[0].line, 2);
    assert_int_equal(all.at[1].line, 3);
    assert_int_equal(all.at[2].line, 1);
}

TEST(the_list_is_bounded_and_the_least_goes)
{
    struct stand_outs all = {.n = 0};
    for (unsigned i = 1; i <= 3 * STAND_OUT_MAX; i++)
        add(&all, "call", i, (i * 7) % 19);
    assert_int_equal(all.n, STAND_OUT_MAX);
    for (size_t i = 0; i < all.n; i++)
        assert_true(near(all.at[i].saves, 18 - (double)i));
}

TEST(a_place_is_named_once_by_what_saves_more)
{
    struct stand_outs all = {.n = 0};
    add(&all, "search", 3, 10);
    add(&all, "search", 3, 12);
    add(&all, "search", 3, 2);
    add(&all, "d-cache", 3, 4);
    assert_int_equal(all.n, 2);
    assert_true(near(all.at[0].saves, 12));
    assert_string_equal(all.at[1].kind, "d-cache");
}

TEST(what_was_not_counted_is_not_a_number)
{
    const struct stand_out r = stand_out_of("call");
    assert_true(isnan(r.turns) && isnan(r.a_second) && isnan(r.bytes));
}

TEST(estimates_have_two_digits)
{
    assert_string_equal(stand_out_about(4752001).text, "4.8 million");
    assert_string_equal(stand_out_about(396972).text, "400,000");
    assert_string_equal(stand_out_about(12345678).text, "12 million");
    assert_string_equal(stand_out_about(73).text, "73");
    assert_string_equal(stand_out_about(3.2).text, "3");
}

/* A claim of `cause` about "hot" that promises `high` percent at most; NULL: no claim. */
static struct explanation claimed(const char *cause, double high)
{
    struct explanation e = {.about = cause ? EXPLAIN_CODE : EXPLAIN_NOTHING,
                            .of_program = {NAN, NAN, high},
                            .places = {.n_hot = 1, .n_functions = 1}};
    snprintf(e.function, sizeof e.function, "hot");
    snprintf(e.cause, sizeof e.cause, "%s", cause ? cause : "");
    snprintf(e.claim, sizeof e.claim, "%s", cause ? "hot has most" : "");
    return e;
}

static enum explain_instead with_place(const char *cause, double high, double share, const char *kind,
                                       const char *function, double saves)
{
    struct explanation e = claimed(cause, high);
    struct stand_out place = row(kind, 1, saves);
    snprintf(place.function, sizeof place.function, "%s", function);
    stand_outs_add(&e.places, &place);
    return explain_instead(&e, share);
}

TEST(a_place_takes_over_from_an_ordinary_claim_of_a_function_that_is_not_all)
{
    assert_int_equal(with_place("dependency", 20, 0.3, "search", "other", 6), EXPLAIN_FIRST_PLACE);
    assert_int_equal(with_place("dependency", 20, 0.3, "search", "hot", 6), EXPLAIN_FIRST_PLACE);
    assert_int_equal(with_place("dependency", 20, 0.3, "search", "other", 4), EXPLAIN_AS_IT_IS);
    assert_int_equal(with_place("dependency", 20, 0.6, "search", "other", 6), EXPLAIN_AS_IT_IS);
    assert_int_equal(with_place("d-cache", 20, 0.3, "search", "other", 6), EXPLAIN_AS_IT_IS);
    assert_int_equal(with_place(NULL, NAN, 0.6, "search", "hot", 6), EXPLAIN_FIRST_PLACE);
}

TEST(a_place_elsewhere_that_promises_more_takes_over_from_any_claim)
{
    assert_int_equal(with_place("d-cache", 5, 0.3, "search", "other", 6), EXPLAIN_FIRST_PLACE);
    assert_int_equal(with_place("dependency", 5, 0.6, "search", "other", 6), EXPLAIN_FIRST_PLACE);
    assert_int_equal(with_place("d-cache", 5, 0.3, "search", "hot", 6), EXPLAIN_AS_IT_IS);
    assert_int_equal(with_place("false-sharing", NAN, 0.3, "search", "other", 6), EXPLAIN_AS_IT_IS);
    assert_int_equal(with_place("d-cache", 3, 0.3, "search", "other", 4), EXPLAIN_AS_IT_IS);
}

TEST(a_loop_that_only_turns_often_takes_over_from_no_function_that_is_half_of_all)
{
    assert_int_equal(with_place(NULL, NAN, 0.6, "loop", "hot", 20), EXPLAIN_AS_IT_IS);
    assert_int_equal(with_place(NULL, NAN, 0.3, "loop", "hot", 20), EXPLAIN_FIRST_PLACE);
}

TEST(calls_and_waits_stay_what_the_document_is_about)
{
    struct explanation e = claimed("dependency", 1);
    const struct stand_out place = row("search", 1, 20);
    stand_outs_add(&e.places, &place);
    e.about = EXPLAIN_CALL;
    assert_int_equal(explain_instead(&e, 0.1), EXPLAIN_AS_IT_IS);
    e.about = EXPLAIN_WAIT;
    assert_int_equal(explain_instead(&e, 0.1), EXPLAIN_AS_IT_IS);
}

TEST(work_is_ordinary_only_where_its_source_was_looked_at)
{
    struct explanation e = claimed("dependency", 20);
    assert_int_equal(explain_instead(&e, 0.3), EXPLAIN_ORDINARY);
    assert_int_equal(explain_instead(&e, 0.6), EXPLAIN_AS_IT_IS);
    e.places.n_functions = 0;
    assert_int_equal(explain_instead(&e, 0.3), EXPLAIN_AS_IT_IS);
    e = claimed("d-cache", 20);
    assert_int_equal(explain_instead(&e, 0.3), EXPLAIN_AS_IT_IS);
    e = claimed(NULL, NAN);
    assert_int_equal(explain_instead(&e, 0.3), EXPLAIN_AS_IT_IS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_could_save_most_comes_first),
        cmocka_unit_test(the_list_is_bounded_and_the_least_goes),
        cmocka_unit_test(a_place_is_named_once_by_what_saves_more),
        cmocka_unit_test(what_was_not_counted_is_not_a_number),
        cmocka_unit_test(estimates_have_two_digits),
        cmocka_unit_test(a_place_takes_over_from_an_ordinary_claim_of_a_function_that_is_not_all),
        cmocka_unit_test(a_place_elsewhere_that_promises_more_takes_over_from_any_claim),
        cmocka_unit_test(a_loop_that_only_turns_often_takes_over_from_no_function_that_is_half_of_all),
        cmocka_unit_test(calls_and_waits_stay_what_the_document_is_about),
        cmocka_unit_test(work_is_ordinary_only_where_its_source_was_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
