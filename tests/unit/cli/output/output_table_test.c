/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/output/table.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct column columns[] = {
    {.key = "cpu-clock", .head = "cpu-clock", .group = "samples", .kind = COLUMN_COUNT},
    {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
    {.key = "addr", .head = NULL, .kind = COLUMN_HEX},
    {.key = "procedure", .head = "procedure", .kind = COLUMN_TEXT, .elastic = true},
};

static struct table *filled(void)
{
    struct table *s = table_open("rows", columns, 4);
    table_count(s, 1234567);
    table_number(s, 99.96);
    table_count(s, 4096);
    table_text(s, "main");
    table_count(s, 7);
    table_number(s, (double)NAN);
    table_none(s, 1);
    table_text(s, "a,\"b\"");
    return s;
}

static char *as_text(struct table *s, unsigned width)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    table_print_text(s, f, width, false);
    fclose(f);
    return text;
}

TEST(numbers_stand_right_and_names_left)
{
    struct table *s = filled();
    char *text = as_text(s, 0);
    assert_string_equal(text, "cpu-clock      %  procedure\n"
                              "1,234,567  100.0  main\n"
                              "        7         a,\"b\"\n");
    free(text);
    table_close(s);
}

TEST(long_names_are_brief_unless_two_would_look_alike)
{
    static const struct column one[] = {{.key = "procedure", .head = "procedure", .kind = COLUMN_TEXT}};
    struct table *s = table_open("rows", one, 1);
    table_names(s, "f(int)", "f");
    table_names(s, "g(int)", "g");
    table_names(s, "f(long)", "f");
    table_names(s, "g(int)", "g"); /* of another image */
    table_names(s, NULL, NULL);
    json_t *rows = table_to_json(s);
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 1), "procedure")), "g(int)");
    json_decref(rows);
    char *text = as_text(s, 0);
    assert_string_equal(text, "procedure\nf(int)\ng\nf(long)\ng\n\n");
    free(text);
    table_close(s);
}

TEST(json_nests_groups_and_keeps_hidden_columns)
{
    struct table *s = filled();
    json_t *rows = table_to_json(s);
    const json_t *first = json_array_get(rows, 0), *second = json_array_get(rows, 1);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(first, "samples"), "cpu-clock")),
                     1234567);
    assert_string_equal(json_string_value(json_object_get(first, "addr")), "0x1000");
    assert_true(json_is_null(json_object_get(second, "percent")));
    json_decref(rows);
    table_close(s);
}

TEST(csv_quotes_what_needs_it)
{
    struct table *s = filled();
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    table_print_csv(s, f);
    fclose(f);
    assert_string_equal(text, "samples.cpu-clock,percent,addr,procedure\r\n"
                              "1234567,99.96,0x1000,main\r\n"
                              "7,,,\"a,\"\"b\"\"\"\r\n");
    free(text);
    table_close(s);
}

TEST(a_symbol_can_not_steer_the_terminal)
{
    char *clean = text_clean("\033[31mred\xff\xc2\x9bß\n");
    assert_string_equal(clean, "?[31mred??ß?");
    free(clean);
}

TEST(an_elastic_column_is_cut_to_the_width)
{
    struct table *s = table_open("rows", columns, 4);
    table_count(s, 1);
    table_number(s, 1);
    table_count(s, 1);
    table_text(s, "a_procedure_with_a_very_very_long_name");
    char *text = as_text(s, 36);
    assert_non_null(strstr(text, "        1  1.0  a_procedure_with_a_…\n"));
    free(text);
    table_close(s);
}

TEST(a_limit_shortens_text_and_says_so)
{
    struct table *s = filled();
    table_limit(s, 1, "--top 0 shows all");
    char *text = as_text(s, 0);
    assert_non_null(strstr(text, "(1 of 2 rows; --top 0 shows all)\n"));
    assert_null(strstr(text, "a,"));
    json_t *rows = table_to_json(s);
    assert_int_equal(json_array_size(rows), 2);
    json_decref(rows);
    free(text);
    table_close(s);
}

TEST(numbers_that_need_the_room_take_it_from_the_gaps)
{
    static const struct column counts[] = {
        {.key = "a", .head = "a", .kind = COLUMN_COUNT},
        {.key = "b", .head = "b", .kind = COLUMN_COUNT},
        {.key = "c", .head = "c", .kind = COLUMN_COUNT},
    };
    struct table *s = table_open("rows", counts, 3);
    for (unsigned i = 0; i < 3; i++)
        table_count(s, 1234567);
    char *wide = as_text(s, 31), *narrow = as_text(s, 30);
    assert_string_equal(strchr(wide, '\n'), "\n1,234,567  1,234,567  1,234,567\n");
    assert_string_equal(strchr(narrow, '\n'), "\n1,234,567 1,234,567 1,234,567\n");
    free(wide);
    free(narrow);
    table_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_names_are_brief_unless_two_would_look_alike),
        cmocka_unit_test(numbers_stand_right_and_names_left),
        cmocka_unit_test(json_nests_groups_and_keeps_hidden_columns),
        cmocka_unit_test(csv_quotes_what_needs_it),
        cmocka_unit_test(a_symbol_can_not_steer_the_terminal),
        cmocka_unit_test(an_elastic_column_is_cut_to_the_width),
        cmocka_unit_test(numbers_that_need_the_room_take_it_from_the_gaps),
        cmocka_unit_test(a_limit_shortens_text_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
