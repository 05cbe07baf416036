/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text within a width, and lines of a source file. */
#include "cli/output/source.h"
#include "cli/output/wrap.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void expect_wrapped(const char *text, unsigned width, unsigned from, unsigned indent,
                           const char *expected)
{
    char *got = NULL;
    size_t size = 0, lines = 1;
    FILE *f = open_memstream(&got, &size);
    size_t said = text_wrap(f, text, width, from, indent);
    fclose(f);
    assert_string_equal(got, expected);
    for (const char *p = expected; (p = strchr(p, '\n')) != NULL; p++)
        lines++;
    assert_int_equal(said, lines);
    free(got);
}

TEST(a_line_breaks_at_blanks_and_goes_on_indented)
{
    expect_wrapped("one two three", 20, 0, 2, "one two three");
    expect_wrapped("one two three", 8, 0, 2, "one two\n  three");
    expect_wrapped("one two three", 8, 4, 4, "one\n    two\n    three");
    expect_wrapped("one two three", 0, 0, 2, "one two three");
}

TEST(a_word_wider_than_the_line_stands_alone)
{
    expect_wrapped("a abcdefghijk b", 6, 0, 0, "a\nabcdefghijk\nb");
}

TEST(colours_and_bytes_of_a_character_take_no_width)
{
    assert_int_equal(text_width("\033[1;31mred\033[0m"), 3);
    assert_int_equal(text_width("größe"), 5);
    assert_int_equal(text_width("\033[2K"),
                     4); /* no colour: shown as it is, but for the escape's own place */
    expect_wrapped("\033[1mäöü\033[0m äöü", 7, 0, 0, "\033[1mäöü\033[0m äöü");
}

TEST(paragraphs_flow_and_indented_lines_stand)
{
    char *got = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&got, &size);
    text_flow(f, "one\ntwo\nthree\n\n  name  what it is and does\nfour", 16);
    fclose(f);
    assert_string_equal(got, "one two three\n\n  name  what it\n        is and\n        does\nfour\n");
    free(got);
}

TEST(a_source_is_found_below_the_root_and_its_tabs_are_blanks)
{
    char root[] = "/tmp/source_test.XXXXXX", path[64];
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/dir", root);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/dir/file.c", root);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("first\n\tx\r\nab\tlast", f);
    fclose(f);
    struct source s;
    source_read(&s, "/no/such/place/dir/file.c", root);
    assert_int_equal(s.n_lines, 3);
    assert_string_equal(source_line(&s, 1), "first");
    assert_string_equal(source_line(&s, 2), "        x");
    assert_string_equal(source_line(&s, 3), "ab      last");
    assert_string_equal(source_line(&s, 0), "");
    assert_string_equal(source_line(&s, 4), "");
    source_fini(&s);
    unlink(path);
    source_read(&s, "/no/such/place/dir/file.c", root);
    assert_int_equal(s.n_lines, 0);
    assert_non_null(strstr(s.trouble, "file.c"));
    source_fini(&s);
    snprintf(path, sizeof path, "%s/dir", root);
    rmdir(path);
    rmdir(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_breaks_at_blanks_and_goes_on_indented),
        cmocka_unit_test(a_word_wider_than_the_line_stands_alone),
        cmocka_unit_test(colours_and_bytes_of_a_character_take_no_width),
        cmocka_unit_test(paragraphs_flow_and_indented_lines_stand),
        cmocka_unit_test(a_source_is_found_below_the_root_and_its_tabs_are_blanks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
