/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Joining rows of a tag table under new values, and more values than rows: nothing is lost, nothing counted twice. */
#include "observer/sample/tags.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cs_tags *table(void)
{
    struct cs_tags *tags = aligned_alloc(64, cs_tags_size(1));
    assert_non_null(tags);
    memset(tags, 0, cs_tags_size(1));
    cs_tags_init(tags, 1, 1);
    return tags;
}

static void add(struct cs_tags *tags, uint64_t value, uint64_t times)
{
    struct cs_tag_row *row = cs_tags_find(tags, value);
    row->samples += times;
    row->visits += 1;
    row->half_cycles += 200 * times;
    row->kept += times;
    row->kept_cycles += 100 * times;
    row->events[0] += 7 * times;
    row->squares[0] += 0.5 * (double)times;
    if (row->bins)
        row->bins[value % CS_DTE_RATE_BINS] += times;
}

static uint64_t tens(void *arg, uint64_t value)
{
    (void)arg;
    return value / 10 * 10;
}

static uint64_t itself(void *arg, uint64_t value)
{
    (void)arg;
    return value;
}

static uint64_t one_more(void *arg, uint64_t value)
{
    (void)arg;
    return value + 1;
}

TEST(rows_of_the_same_new_value_are_one)
{
    struct cs_tags *tags = table();
    add(tags, 31, 1), add(tags, 25, 2), add(tags, 37, 4), add(tags, 12, 8), add(tags, 30, 16);
    cs_tags_rename(tags, tens, NULL);
    assert_int_equal(tags->n_rows, 3);
    const struct cs_tag_row *thirty = cs_tags_find(tags, 30);
    assert_int_equal(tags->n_rows, 3);
    assert_int_equal(thirty->samples, 21);
    assert_int_equal(thirty->visits, 3);
    assert_int_equal(thirty->half_cycles, 4200);
    assert_int_equal(thirty->kept, 21);
    assert_int_equal(thirty->kept_cycles, 2100);
    assert_int_equal(thirty->events[0], 147);
    assert_true(thirty->squares[0] == 10.5);
    assert_int_equal(thirty->bins[31], 1);
    assert_int_equal(thirty->bins[37], 4);
    assert_int_equal(thirty->bins[30], 16);
    assert_int_equal(thirty->bins[25] + thirty->bins[12], 0);
    assert_int_equal(cs_tags_find(tags, 20)->samples, 2);
    assert_int_equal(cs_tags_find(tags, 20)->bins[25], 2);
    assert_int_equal(cs_tags_find(tags, 10)->bins[12], 8);
    free(tags);
}

TEST(the_total_is_the_same)
{
    struct cs_tags *tags = table();
    uint64_t before_bins[CS_DTE_RATE_BINS] = {0}, after_bins[CS_DTE_RATE_BINS] = {0};
    struct cs_tag_row before, after;
    for (uint64_t v = 0; v < 5000; v++)
        add(tags, v * 7919 % 1000, v % 13);
    cs_tags_total(tags, &before, before_bins);
    cs_tags_rename(tags, tens, NULL);
    cs_tags_total(tags, &after, after_bins);
    assert_int_equal(tags->n_rows, 100);
    assert_int_equal(before.samples, after.samples);
    assert_int_equal(before.half_cycles, after.half_cycles);
    assert_int_equal(before.kept, after.kept);
    assert_int_equal(before.events[0], after.events[0]);
    assert_true(before.squares[0] == after.squares[0]);
    free(tags);
}

TEST(other_values_keep_their_rows)
{
    struct cs_tags *tags = table();
    for (uint64_t v = 0; v < 300; v++)
        add(tags, v, v + 1);
    cs_tags_rename(tags, itself, NULL);
    cs_tags_rename(tags, one_more, NULL); /* each takes a value that another one had */
    assert_int_equal(tags->n_rows, 300);
    for (uint64_t v = 0; v < 300; v++) {
        const struct cs_tag_row *row = cs_tags_find(tags, v + 1);
        assert_int_equal(row->samples, v + 1);
        if (row->bins)
            assert_int_equal(row->bins[v % CS_DTE_RATE_BINS], v + 1);
    }
    assert_int_equal(tags->n_rows, 300);
    free(tags);
}

TEST(a_row_without_histogram_stays_without)
{
    struct cs_tags *tags = table();
    for (uint64_t v = 0; v < CS_TAG_HISTOGRAMS; v++)
        add(tags, 10 + v % 10 + v / 10 * 10, 1);
    add(tags, 1000000, 5);
    cs_tags_rename(tags, tens, NULL);
    const struct cs_tag_row *row = cs_tags_find(tags, 1000000);
    assert_int_equal(row->samples, 5);
    assert_null(row->bins);
    free(tags);
}

/* More values than rows, one after another; one of them comes late and stays. */
TEST(a_late_value_of_much_time_has_its_row)
{
    enum { VALUES = 5 * CS_TAG_ROWS, LATE = 4 * CS_TAG_ROWS };
    struct cs_tags *tags = table();
    struct cs_tag_row total;
    uint64_t all = 0;
    for (uint64_t v = 0; v < VALUES; v++) {
        struct cs_tag_row *row = cs_tags_find(tags, 1000 + v * 7919);
        assert_int_equal(row->tag, 1000 + v * 7919);
        tags->keep = row;
        row->samples++, row->half_cycles += 200, row->kept++, row->events[0] += 3;
        all += 200;
        if (v > LATE) { /* now and then, between all the others */
            row = cs_tags_find(tags, 5);
            tags->keep = row;
            row->samples++, row->half_cycles += 1000, row->kept++, row->events[0] += 3;
            all += 1000;
        }
    }
    const struct cs_tag_row *late = cs_tags_find(tags, 5);
    const uint64_t truth = 1000 * (uint64_t)(VALUES - LATE - 1);
    assert_true(tags->overflow);
    assert_true(late->half_cycles <= truth && late->half_cycles + late->before >= truth);
    assert_true(late->half_cycles > truth / 10 * 9);
    assert_true(tags->most_lost < all / 1000);
    cs_tags_total(tags, &total, NULL);
    assert_int_equal(total.half_cycles, all);
    assert_int_equal(total.samples, VALUES + VALUES - LATE - 1);
    assert_int_equal(total.events[0], 3 * total.samples);
    /* Each row is found by its value, and by no other. */
    for (uint32_t r = 0; r < tags->n_rows; r++)
        assert_ptr_equal(cs_tags_find(tags, tags->rows[r].tag), &tags->rows[r]);
    free(tags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_the_same_new_value_are_one),
        cmocka_unit_test(the_total_is_the_same),
        cmocka_unit_test(other_values_keep_their_rows),
        cmocka_unit_test(a_late_value_of_much_time_has_its_row),
        cmocka_unit_test(a_row_without_histogram_stays_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
