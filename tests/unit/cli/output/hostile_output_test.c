/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that hold escape sequences, shell text and formulas, at each way out of cli/: none acts. */
#include "cli/command/parsed.h"
#include "cli/output/hint.h"
#include "cli/output/output.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVIL "\033]0;owned\007\033[2J\r\n\xc2\x9b=1+1\xff"
/* one ? a byte that is no text, one a character that acts */
#define CLEAN                                                                                                \
    "?]0;owned??[2J???"                                                                                      \
    "=1+1?"

static char captured[8192];

/* Runs `write` with a standard stream into `captured`. */
static void capture(int fd, FILE *stream, void (*write)(const void *), const void *arg)
{
    FILE *file = tmpfile();
    int before = dup(fd);
    fflush(stream);
    assert_true(file && before >= 0 && dup2(fileno(file), fd) == fd);
    write(arg);
    fflush(stream);
    assert_int_equal(dup2(before, fd), fd);
    close(before);
    rewind(file);
    size_t n = fread(captured, 1, sizeof captured - 1, file);
    captured[n] = '\0';
    fclose(file);
}

static void write_document(const void *form)
{
    struct parsed args = {.n_given = form != NULL};
    static const struct column columns[] = {{.key = "n" EVIL, .head = "n" EVIL, .kind = COLUMN_COUNT},
                                            {.key = "name", .head = "name", .kind = COLUMN_TEXT}};
    args.given[0].name = form;
    args.given[0].value = "";
    struct output *out = output_open(&args);
    output_line(out, "line %s.", EVIL);
    output_note(out, "note %s.", EVIL);
    output_coloured_line(out, "before " EVIL, "\033[31m", "word " EVIL, " after " EVIL);
    output_hint(out, "next:", "calc", EVIL, NULL, NULL, "");
    output_hint(out, "next:", "calc", "$(id)", "--store", "it's", "");
    output_set(out, "set", json_text(EVIL));
    struct table *table = output_table(out, "rows", columns, 2);
    table_count(table, 7);
    table_text(table, EVIL);
    table_count(table, 8);
    table_text(table, "=2+2");
    assert_int_equal(output_close(out), CS_EXIT_OK);
}

static void assert_harmless(const char *text)
{
    assert_null(strpbrk(text, "\033\007"));
    assert_null(strstr(text, "\xc2\x9b"));
}

TEST(text_is_clean_in_lines_notes_heads_and_cells)
{
    capture(STDOUT_FILENO, stdout, write_document, NULL);
    assert_string_equal(captured, "line " CLEAN ".\n"
                                  "note " CLEAN ".\n"
                                  "before " CLEAN "word " CLEAN " after " CLEAN "\n"
                                  "next: cyclescope calc '$(id)' --store 'it'\\''s'\n"
                                  "n" CLEAN "  name\n"
                                  "                      7  " CLEAN "\n"
                                  "                      8  =2+2\n");
}

TEST(csv_is_clean_and_holds_no_formula)
{
    capture(STDOUT_FILENO, stdout, write_document, "csv");
    assert_string_equal(captured, "n" CLEAN ",name\r\n7," CLEAN "\r\n8,'=2+2\r\n");
}

TEST(json_is_valid_exact_and_harmless)
{
    capture(STDOUT_FILENO, stdout, write_document, "json");
    assert_harmless(captured);
    json_t *whole = json_loads(captured, 0, NULL);
    const json_t *row = json_array_get(json_object_get(whole, "rows"), 0);
    assert_string_equal(json_string_value(json_object_get(row, "name")),
                        "\033]0;owned\007\033[2J\r\n\xc2\x9b=1+1\xef\xbf\xbd");
    json_decref(whole);
}

static void fail_in_all_ways(const void *unused)
{
    (void)unused;
    struct cs_error err = {.text = "error " EVIL};
    messages_name("test");
    (void)failed(&err);
    (void)failed_with("%s", EVIL);
    (void)usage_error("%s", EVIL);
    remark("%s", EVIL);
    report_line(stderr, "%s", EVIL);
}

TEST(sentences_on_standard_error_are_clean)
{
    capture(STDERR_FILENO, stderr, fail_in_all_ways, NULL);
    assert_string_equal(captured, "cyclescope test: error " CLEAN "\n"
                                  "cyclescope test: " CLEAN "\n"
                                  "cyclescope test: " CLEAN "; see cyclescope test --help\n"
                                  "cyclescope test: " CLEAN "\n" CLEAN "\n");
}

static void word(const char *name, const char *expected)
{
    char *got = hint_word(name);
    if (expected)
        assert_string_equal(got, expected);
    else
        assert_null(got);
    free(got);
}

TEST(a_word_is_quoted_unless_no_shell_reads_more_into_it)
{
    word("main", "main");
    word("/srv/a-b_c.d/e:1", "/srv/a-b_c.d/e:1");
    word("", "''");
    word("f(int)", "'f(int)'");
    word("~root", "'~root'");
    word("=ls", "'=ls'"); /* zsh */
    word("a b", "'a b'");
    word("!!", "'!!'");
    word("#x", "'#x'");
    word("it's", "'it'\\''s'");
    word("Stra\xc3\x9f"
         "e",
         "'Stra\xc3\x9f"
         "e'");
}

TEST(a_word_that_cannot_be_pasted_as_seen_is_refused)
{
    word("a\nb", NULL);
    word("\033[31m", NULL);
    word("\xff", NULL);
    word("\xe2\x80\xae", NULL); /* turns the direction of writing */
    word("--store=/x", NULL);   /* would be an option */
    assert_null(hint_command("calc", "a\n", "--store", "x"));
    assert_null(hint_command("calc", "a", "--store", "x\r"));
}

/* What a shell makes of it: the word, and nothing ran. */
TEST(a_shell_takes_a_word_for_itself)
{
    static const char *const names[] = {"$(echo no)",
                                        "`echo no`",
                                        "'; echo no; '",
                                        "\"; echo no #",
                                        "a\\",
                                        "'",
                                        "''$HOME''",
                                        "* ? [a-z] {a,b}",
                                        "operator<<(std::ostream&, char)",
                                        "a && b || c | d > /dev/null < x & ;"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char line[512], got[256] = "", *quoted = hint_word(names[i]);
        snprintf(line, sizeof line, "printf %%s %s", quoted);
        FILE *shell = popen(line, "r");
        assert_non_null(shell);
        got[fread(got, 1, sizeof got - 1, shell)] = '\0';
        assert_int_equal(pclose(shell), 0);
        assert_string_equal(got, names[i]);
        free(quoted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_clean_in_lines_notes_heads_and_cells),
        cmocka_unit_test(csv_is_clean_and_holds_no_formula),
        cmocka_unit_test(json_is_valid_exact_and_harmless),
        cmocka_unit_test(sentences_on_standard_error_are_clean),
        cmocka_unit_test(a_word_is_quoted_unless_no_shell_reads_more_into_it),
        cmocka_unit_test(a_word_that_cannot_be_pasted_as_seen_is_refused),
        cmocka_unit_test(a_shell_takes_a_word_for_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
