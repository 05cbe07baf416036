/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image/debug/line_program.h through cs_image_line_at, against libdw's table (cs_image_frames_at) of this very program.
 */
#include "image/code.h"
#include "image/debug/line_program.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

static struct cs_image_code *opened(void)
{
    struct cs_image_code *code;
    struct cs_error err;
    if (cs_image_open_file("/proc/self/exe", &code, &err) < 0)
        fail_msg("%s", err.text);
    return code;
}

TEST(one_address_has_the_line_that_the_whole_table_has)
{
    struct cs_image_code *whole = opened();
    size_t n = cs_image_procedures(whole);
    unsigned compared = 0;
    assert_true(n > 100);
    for (size_t i = 0; i < n; i += 1 + n / 150) {
        const struct cs_image_procedure *procedure = cs_image_procedure_nth(whole, i);
        struct cs_image_code *fresh = opened(); /* it asks the table of a unit that is asked often */
        for (uint64_t k = 0; k < 3; k++) {
            uint64_t offset = procedure->start + procedure->size * k / 3;
            struct cs_image_frame line, frame;
            bool known = cs_image_frames_at(whole, offset, &frame, 1) && frame.line;
            assert_int_equal(cs_image_line_at(fresh, offset, &line), known);
            if (!known)
                continue;
            assert_int_equal(line.line, frame.line);
            assert_int_equal(line.column, frame.column);
            assert_int_equal(line.discriminator, frame.discriminator);
            assert_string_equal(line.file, frame.file);
            compared++;
        }
        cs_image_close(fresh);
    }
    assert_true(compared > 100);
    cs_image_close(whole);
}

/* Version 4, one file, two rows at 0x10 and 0x14, end at 0x20. */
static const uint8_t table[] = {
    53,   0,   0,   0,    4,  0,  /* length, version */
    27,   0,   0,   0,            /* length of what follows up to the program */
    1,    1,   1,   0xfb, 14, 13, /* bytes, operations, is_stmt, base, range, first special */
    0,    1,   1,   1,    1,  0,  0, 0, 1, 0, 0, 1, /* operands of opcodes 1 to 12 */
    0,                                              /* no folders */
    'a',  '.', 'c', 0,    0,  0,  0, 0,             /* a file; end of files */
    0,    9,   2,   0x10, 0,  0,  0, 0, 0, 0, 0,    /* address 0x10 */
    3,    6,   1,                                   /* line 7, row */
    0x4b, 2,   12,  0,    1,  1,                    /* address +4, line +1, row; address +12; end */
};

static bool find(const uint8_t *bytes, size_t n, uint64_t address, struct line_row *row)
{
    const struct line_sections s = {.line = {bytes, n}};
    return line_program_find(&s, 0, address, row);
}

TEST(rows_reach_to_the_next_and_the_end_has_none)
{
    struct line_row row;
    assert_false(find(table, sizeof table, 0x0f, &row));
    assert_true(find(table, sizeof table, 0x10, &row));
    assert_int_equal(row.line, 7);
    assert_string_equal(row.file, "a.c");
    assert_true(find(table, sizeof table, 0x13, &row) && row.line == 7);
    assert_true(find(table, sizeof table, 0x14, &row) && row.line == 8);
    assert_true(find(table, sizeof table, 0x1f, &row) && row.line == 8);
    assert_false(find(table, sizeof table, 0x20, &row));
}

/* Each byte in turn gets every value, and the end comes at each byte: no read outside (run with a sanitizer).
 */
TEST(damaged_tables_are_read_within_their_bounds)
{
    struct line_row row;
    for (size_t at = 0; at < sizeof table; at++)
        for (unsigned value = 0; value < 256; value++) {
            uint8_t *copy = malloc(sizeof table);
            assert_non_null(copy);
            memcpy(copy, table, sizeof table);
            copy[at] = (uint8_t)value;
            if (find(copy, sizeof table, 0x14, &row))
                assert_true(memchr(row.file, 0, sizeof table) != NULL);
            free(copy);
        }
    for (size_t n = 0; n < sizeof table; n++) {
        uint8_t *copy = malloc(n + 1);
        assert_non_null(copy);
        memcpy(copy, table, n);
        assert_false(find(copy, n, 0x14, &row));
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_address_has_the_line_that_the_whole_table_has),
        cmocka_unit_test(rows_reach_to_the_next_and_the_end_has_none),
        cmocka_unit_test(damaged_tables_are_read_within_their_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
