/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes, and foreign text made harmless. */

#include "signals/reader/reader_open.h"
#include "store/base/bytes.h"
#include "store/base/delimited.h"
#include "store/base/random.h"
#include "store/base/text.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(numbers_come_back_little_endian)
{
    struct cs_bytes out = {0};
    cs_bytes_put_u8(&out, 0x01);
    cs_bytes_put_u16(&out, 0x0302);
    cs_bytes_put_u32(&out, 0x07060504);
    cs_bytes_put_u64(&out, 0x0f0e0d0c0b0a0908);
    assert_false(out.failed);
    assert_int_equal(out.used, 15);
    for (unsigned i = 0; i < 15; i++)
        assert_int_equal(out.start[i], i + 1);
    struct cs_bytes_cursor in = {out.start, out.start + out.used, false};
    assert_int_equal(cs_bytes_take_u8(&in), 0x01);
    assert_int_equal(cs_bytes_take_u16(&in), 0x0302);
    assert_int_equal(cs_bytes_take_u16(&in), 0x0504);
    assert_int_equal(cs_bytes_take_u16(&in), 0x0706);
    assert_true(cs_bytes_take_u64(&in) == 0x0f0e0d0c0b0a0908);
    assert_false(in.bad);
    assert_int_equal(cs_bytes_take_u64(&in), 0); /* none left */
    assert_true(in.bad);
    cs_bytes_fini(&out);
}

TEST(a_cursor_stays_bad_and_in_its_range)
{
    const uint8_t three[] = {1, 2, 3};
    struct cs_bytes_cursor in = {three, three + 3, false};
    assert_null(cs_bytes_take_raw(&in, 4));
    assert_null(cs_bytes_take_raw(&in, 1)); /* would fit, but the cursor is bad */
    assert_int_equal(cs_bytes_take_u8(&in), 0);
    assert_ptr_equal(in.at, three);
}

static void cleaned(const char *text, const char *expected)
{
    char *clean = cs_text_cleaned(text);
    assert_string_equal(clean, expected);
    free(clean);
}

TEST(what_could_move_a_terminal_or_mislead_is_a_question_mark)
{
    cleaned("Stra\xc3\x9f"
            "e \xe2\x82\xac \xf0\x9f\x98\x80",
            "Stra\xc3\x9f"
            "e \xe2\x82\xac \xf0\x9f\x98\x80");
    cleaned("\x1b[31mred\a\x7f\n", "?[31mred???");
    cleaned("a\xc2\x9b"
            "b",
            "a?b"); /* C1: CSI in one character */
    cleaned("a\xe2\x80\xae"
            "b",
            "a?b"); /* right-to-left override */
    cleaned("a\xe2\x80\x8b"
            "b",
            "a?b");                                    /* zero width */
    cleaned("\xc0\x80 \xed\xa0\x80 \xf5", "?? ??? ?"); /* overlong, surrogate, beyond */
    cleaned("cut \xe2\x82", "cut ??");
}

TEST(a_cut_falls_between_characters)
{
    char out[6];
    assert_int_equal(cs_text_clean(out, 6, "abc\xe2\x82\xac", 6), 3); /* three more and the NUL don't fit */
    assert_string_equal(out, "abc");
    assert_int_equal(cs_text_clean(out, 6, "ab\xe2\x82\xac", 5), 5);
    assert_string_equal(out, "ab\xe2\x82\xac");
    assert_int_equal(cs_text_clean(out, 6, "abcdef", 2), 2);
    assert_int_equal(cs_text_clean(out, 1, "abc", 3), 0);
    assert_string_equal(out, "");
}

TEST(valid_text_keeps_controls_and_loses_broken_bytes)
{
    char *valid = cs_text_valid("\x1b[31m \xff \xc3\x9f \xe2\x82");
    assert_string_equal(valid, "\x1b[31m \xef\xbf\xbd \xc3\x9f \xef\xbf\xbd\xef\xbf\xbd");
    free(valid);
}

TEST(the_signals_reader_cleans_by_the_same_rule)
{
    struct cs_random random = {1};
    static const unsigned char likely[] = {0xc2, 0x9b, 0xe2, 0x80, 0xae, 0xed, 0xa0, 0xf0, 0x9f, 0x98, 0xf4,
                                           0x8f, 0xbf, 0xef, 0xbb, 0x1b, 0x7f, 'a',  0xc0, 0xe0, 0xf8, 0x90};
    for (unsigned i = 0; i < 200000; i++) {
        char text[24], ours[16], theirs[16];
        const size_t n = (size_t)cs_random_below(&random, sizeof text);
        for (size_t k = 0; k < sizeof text; k++)
            text[k] = (char)(cs_random_below(&random, 4) ? likely[cs_random_below(&random, sizeof likely)]
                                                         : cs_random_next(&random));
        cs_text_clean(ours, sizeof ours, text, n);
        cs_reader_clean_text(theirs, sizeof theirs, text, n);
        assert_string_equal(ours, theirs);
    }
}

static char *written(void (*write)(FILE *, const char *), const char *text)
{
    char *out = NULL;
    size_t n = 0;
    FILE *stream = open_memstream(&out, &n);
    write(stream, text);
    fclose(stream);
    return out;
}

static void json(const char *text, const char *expected)
{
    char *out = written(cs_json_string, text);
    assert_string_equal(out, expected);
    free(out);
}

static void name(const char *text, const char *expected)
{
    char *out = written(cs_csv_name, text);
    assert_string_equal(out, expected);
    free(out);
}

TEST(a_csv_name_is_no_formula_and_no_escape_sequence)
{
    name("main", "main");
    name("=1+1", "'=1+1");
    name("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0");
    name("-[NSString length]", "'-[NSString length]");
    name("@SUM(A1,\"x\")", "\"'@SUM(A1,\"\"x\"\")\"");
    name("a=b", "a=b");
    name("\x1b]0;t\a\r\n\xff\xc2\x9b", "?]0;t?????");
    name("\t=1", "?=1");     /* a leading tab would be skipped by a spreadsheet */
    name(" =1+1", "' =1+1"); /* spaces, too */
    name("\xc2\xa0\xe3\x80\x80@x", "'\xc2\xa0\xe3\x80\x80@x");
    name("\xef\xbc\x9d"
         "1+1",
         "'\xef\xbc\x9d"
         "1+1"); /* full width */
    name("\xef\xbc\xa0x", "'\xef\xbc\xa0x");
    name(" a", " a");
    name("", "");
}

TEST(a_csv_number_stays_a_number)
{
    name("-5", "-5");
    name("+1.5e3", "+1.5e3");
    name("-5 %", "'-5 %");
    name("-0x10", "'-0x10");
    name("-inf", "'-inf");
}

static void harmless(FILE *to, const char *text)
{
    cs_json_harmless(to, text, strlen(text));
}

TEST(json_is_exact_and_harmless_on_a_terminal)
{
    json("a\x7f\xc2\x9b"
         "31m\xe2\x80\xae\xc3\x9f",
         "\"a\\u007f\\u009b31m\\u202e\xc3\x9f\"");
    char *out = written(harmless, "{\"a\xc3\x9f\": \"\xc2\x9b\x7f\xe2\x80\xa8z\"}\n");
    assert_string_equal(out, "{\"a\xc3\x9f\": \"\\u009b\\u007f\\u2028z\"}\n");
    free(out);
}

TEST(text_is_clean_when_cleaning_changes_nothing)
{
    assert_true(cs_text_is_clean("f(int, const char *) Stra\xc3\x9f"
                                 "e"));
    assert_true(cs_text_is_clean(""));
    assert_false(cs_text_is_clean("a\n"));
    assert_false(cs_text_is_clean("a\x1b"));
    assert_false(cs_text_is_clean("\xff"));
    assert_false(cs_text_is_clean("\xe2\x80\xae"));
}

TEST(json_strings_escape_what_json_forbids)
{
    json("", "\"\"");
    json("a\"b\\c/\n\x01", "\"a\\\"b\\\\c/\\u000a\\u0001\"");
    json("Stra\xc3\x9f"
         "e \xff",
         "\"Stra\xc3\x9f"
         "e \xef\xbf\xbd\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_back_little_endian),
        cmocka_unit_test(a_cursor_stays_bad_and_in_its_range),
        cmocka_unit_test(what_could_move_a_terminal_or_mislead_is_a_question_mark),
        cmocka_unit_test(a_cut_falls_between_characters),
        cmocka_unit_test(valid_text_keeps_controls_and_loses_broken_bytes),
        cmocka_unit_test(the_signals_reader_cleans_by_the_same_rule),
        cmocka_unit_test(a_csv_name_is_no_formula_and_no_escape_sequence),
        cmocka_unit_test(a_csv_number_stays_a_number),
        cmocka_unit_test(json_is_exact_and_harmless_on_a_terminal),
        cmocka_unit_test(text_is_clean_when_cleaning_changes_nothing),
        cmocka_unit_test(json_strings_escape_what_json_forbids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
