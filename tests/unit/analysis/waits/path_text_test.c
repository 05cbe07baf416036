/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A critical path as a sentence: what is most of it, whose it is, and nothing of what is little. */
#include "analysis/waits/critical_path.h"
#include "tests/unit/test.h"

TEST(rows_of_a_tenth_are_told_with_their_thread)
{
    struct cs_call_function load = {.brief = "load"};
    struct cs_path_row rows[] = {{"file", &load, "hash", 5e9},
                                 {"running", NULL, "hash", 3e9},
                                 {"pipe", &load, "", 1.5e9},
                                 {"running", &load, "sort", 0.5e9}};
    const struct cs_critical_path path = {.rows = rows, .n = 4, .all_ns = 10e9, .thread = "sh"};
    char text[384];
    cs_critical_path_text(&path, text, sizeof text);
    assert_string_equal(text, "50 % file in load (hash), 30 % running (hash), 15 % pipe in load");
    cs_critical_path_text(&path, text, 20); /* is cut, not overrun */
    assert_string_equal(text, "50 % file in load (");
}

TEST(a_path_of_small_parts_has_nothing_to_tell)
{
    struct cs_path_row rows[] = {{"file", NULL, "hash", 0.9e9}};
    const struct cs_critical_path path = {.rows = rows, .n = 1, .all_ns = 10e9, .thread = "sh"};
    char text[64] = "before";
    cs_critical_path_text(&path, text, sizeof text);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_a_tenth_are_told_with_their_thread),
        cmocka_unit_test(a_path_of_small_parts_has_nothing_to_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
