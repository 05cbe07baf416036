/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which line of a function's waits is the one that grew, by lines that are written here. */
#include "cli/gate/wait_places.h"
#include "tests/unit/test.h"

#include <string.h>

#define MS UINT64_C(1000000)

struct at {
    unsigned line;
    uint64_t ms;
};

/* Of runs of 2 a side; 0 ends a list. The line that grew, or 0. */
static unsigned grown(const struct at base[4], const struct at head[4], double growth_ms)
{
    static const size_t runs[2] = {2, 2};
    struct wait_lines side[2] = {{{0}}, {{0}}};
    for (unsigned k = 0; k < 2; k++)
        for (const struct at *at = k ? head : base; at->ms; at++) {
            struct wait_line *line = cs_array_add(&side[k].all);
            assert_non_null(line);
            *line = (struct wait_line){
                .file = strdup(at->line ? "app.c" : ""), .line = at->line, .ns = 2 * at->ms * MS};
            assert_non_null(line->file);
        }
    const struct wait_line *found = gate_wait_line_grown(side, runs, growth_ms * (double)MS);
    assert_true(!found || found->line);
    const unsigned line = found ? found->line : 0;
    wait_lines_fini(&side[0]);
    wait_lines_fini(&side[1]);
    return line;
}

TEST(the_only_line_is_the_one_that_grew)
{
    assert_int_equal(grown((struct at[4]){{10, 1}}, (struct at[4]){{10, 4}}, 3), 10);
    assert_int_equal(grown((struct at[4]){{10, 1}}, (struct at[4]){{12, 4}}, 3), 12); /* it moved */
    assert_int_equal(grown((struct at[4]){{0}}, (struct at[4]){{12, 4}}, 4), 12);
}

/* The other one has more time, in both. */
TEST(of_two_lines_it_is_the_one_with_the_growth)
{
    assert_int_equal(grown((struct at[4]){{10, 50}, {20, 1}}, (struct at[4]){{10, 50}, {20, 9}}, 8), 20);
    assert_int_equal(grown((struct at[4]){{10, 50}, {20, 1}}, (struct at[4]){{25, 9}, {15, 50}}, 8), 25);
}

TEST(lines_that_share_a_growth_have_none)
{
    assert_int_equal(
        grown((struct at[4]){{10, 5}, {20, 5}, {30, 5}}, (struct at[4]){{10, 8}, {20, 8}, {30, 8}}, 9), 0);
}

/* A line more in the head: whichever it was, one has most. Else nobody says which is new. */
TEST(a_new_line_is_named_only_where_it_cannot_be_an_old_one)
{
    assert_int_equal(grown((struct at[4]){{10, 5}}, (struct at[4]){{10, 5}, {20, 30}}, 30), 20);
    assert_int_equal(grown((struct at[4]){{10, 50}}, (struct at[4]){{10, 48}, {20, 10}}, 8), 0);
}

TEST(a_place_without_a_line_names_none)
{
    assert_int_equal(grown((struct at[4]){{0, 1}}, (struct at[4]){{0, 9}}, 8), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_only_line_is_the_one_that_grew),
        cmocka_unit_test(of_two_lines_it_is_the_one_with_the_growth),
        cmocka_unit_test(lines_that_share_a_growth_have_none),
        cmocka_unit_test(a_new_line_is_named_only_where_it_cannot_be_an_old_one),
        cmocka_unit_test(a_place_without_a_line_names_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
