/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bins as rows and bars, and which counter or tag a name means. */
#include "cli/observe/observed_source.h"
#include "cli/observe/series.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

static double edge(unsigned bin)
{
    return bin * 10.0;
}

TEST(a_bar_has_eighths_and_shows_the_least_share)
{
    char bar[64];
    bar_draw(bar, 1, 4);
    assert_string_equal(bar, "████");
    bar_draw(bar, 0.5, 4);
    assert_string_equal(bar, "██");
    bar_draw(bar, 0.125, 1);
    assert_string_equal(bar, "▏");
    bar_draw(bar, 1e-9, 4);
    assert_string_equal(bar, "▏");
    bar_draw(bar, 0, 4);
    assert_string_equal(bar, "");
    bar_draw(bar, 7, 2);
    assert_string_equal(bar, "██");
    bar_draw(bar, (double)NAN, 2);
    assert_string_equal(bar, "");
}

TEST(rows_cover_the_bins_and_their_shares_add_up)
{
    const double bins[9] = {10, 20, 0, 30, 0, 0, 40, 0, 0};
    struct histogram_row rows[16];
    double outside = -1, sum = 0;
    unsigned n = histogram_rows(bins, 9, edge, 16, rows, &outside);
    for (unsigned i = 0; i < n; i++) {
        sum += rows[i].share;
        assert_true(i < 2 || rows[i].least == rows[i - 1].most);
    }
    assert_true(rows[0].most == 0 && fabs(rows[0].share - 0.1) < 1e-12);
    assert_true(rows[1].least == 10 && fabs(rows[1].share - 0.2) < 1e-12);
    assert_true(rows[n - 1].most == 70 && fabs(rows[n - 1].share - 0.4) < 1e-12);
    assert_true(fabs(sum - 1) < 1e-12 && fabs(outside) < 1e-12);
}

TEST(many_bins_are_joined_and_what_is_rare_lies_outside)
{
    double bins[101] = {0};
    for (unsigned i = 20; i < 60; i++)
        bins[i] = 1000;
    bins[2] = bins[99] = 1;
    struct histogram_row rows[8];
    double outside, sum = 0;
    unsigned n = histogram_rows(bins, 101, edge, 8, rows, &outside);
    assert_in_range(n, 4, 8);
    for (unsigned i = 0; i < n; i++)
        sum += rows[i].share;
    assert_true(rows[0].least == 200 && rows[n - 1].most == 600);
    assert_true(fabs(sum + outside - 1) < 1e-12 && outside > 0 && outside < 0.001);
}

TEST(empty_bins_give_no_rows)
{
    const double bins[4] = {0};
    struct histogram_row rows[4];
    double outside = 1;
    assert_int_equal(histogram_rows(bins, 4, edge, 4, rows, &outside), 0);
    assert_true(outside == 0);
}

TEST(a_counter_or_tag_is_found_by_its_name)
{
    struct cs_sink sink = {.n_counters = 2, .n_tags = 1};
    struct observed o = {.sink = &sink, .counters = {"cycles", "misses"}, .tags = {"phase"}};
    assert_int_equal(series_find(&o, NULL), 0);
    assert_int_equal(series_find(&o, "misses"), 1);
    assert_int_equal(series_find(&o, "phase"), -1);
    assert_int_equal(observed_tag(&o, "phase"), 0);
    assert_int_equal(observed_tag(&o, "work"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bar_has_eighths_and_shows_the_least_share),
        cmocka_unit_test(rows_cover_the_bins_and_their_shares_add_up),
        cmocka_unit_test(many_bins_are_joined_and_what_is_rare_lies_outside),
        cmocka_unit_test(empty_bins_give_no_rows),
        cmocka_unit_test(a_counter_or_tag_is_found_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
