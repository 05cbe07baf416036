/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples by procedure and interval, of an image whose procedures are named in the store: 0..0x20 and 0x40..0x60. */
#include "cli/profile/phases/interval_matrix.h"
#include "tests/unit/give_name.h"
#include "tests/unit/test.h"
#include "tests/unit/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[64];
static const struct cs_store_image code = {"j1111111111111111", CS_IMAGE_JIT, "made", ""};

static void put(struct cs_store *store, const char *event, const uint64_t (*rows)[4], size_t n)
{
    struct cs_error err = {0};
    struct cs_store_profile_head head = {.unit = "ns", .label = "intervals"};
    snprintf(head.event, sizeof head.event, "%s", event);
    struct cs_table *table = cs_table_open(&cs_schema_intervals);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cs_table_add(table, rows[i]), 0);
    assert_int_equal(cs_store_merge(store, &code, &head, table, &err), 0);
    cs_table_close(table);
}

static void filled(const uint64_t (*clock)[4], size_t n_clock, const uint64_t (*faults)[4], size_t n_faults)
{
    struct cs_store *store;
    struct cs_error err = {0};
    snprintf(directory, sizeof directory, "/tmp/interval_matrix_test.%d", (int)getpid());
    assert_int_equal(cs_store_open(directory, CS_STORE_WRITE, &store, &err), 0);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    assert_int_equal(give_name(store, &code, 0, 0x20, "seldom", &err), 0);
    assert_int_equal(give_name(store, &code, 0x40, 0x20, "often", &err), 0);
    put(store, "cpu-clock", clock, n_clock);
    if (n_faults)
        put(store, "page-faults", faults, n_faults);
    cs_store_close(store);
}

static int remove_store(void **state)
{
    (void)state;
    remove_tree(directory);
    return 0;
}

static uint64_t at(const struct interval_matrix *m, size_t interval, const char *procedure)
{
    for (size_t p = 0; p < m->n_procedures; p++)
        if (strncmp(m->procedures[p], procedure, strlen(procedure)) == 0)
            return m->counts[interval * m->n_procedures + p];
    fail_msg("no procedure %s", procedure);
    return 0;
}

TEST(samples_are_counted_by_procedure_and_interval_and_the_busiest_procedure_is_first)
{
    const uint64_t clock[][4] = {{1000, 5000, 0x44, 7}, {1000, 5000, 0x0, 2}, {1000, 7000, 0x50, 9}};
    struct interval_matrix m;
    struct cs_error err = {0};
    filled(clock, 3, NULL, 0);
    assert_int_equal(interval_matrix_open(&m, directory, &(struct interval_filter){0}, &err), 0);
    assert_int_equal(m.length_ms, 1000);
    assert_int_equal(m.start_ms, 5000);
    assert_int_equal(m.n_intervals, 3); /* 6000 is there, without samples */
    assert_int_equal(strncmp(m.procedures[0], "often\t", 6), 0);
    assert_int_equal(m.totals[0], 16);
    assert_int_equal(at(&m, 0, "often"), 7);
    assert_int_equal(at(&m, 0, "seldom"), 2);
    assert_int_equal(at(&m, 1, "often") + at(&m, 1, "seldom"), 0);
    assert_int_equal(at(&m, 2, "often"), 9);
    interval_matrix_close(&m);
}

TEST(intervals_of_different_lengths_are_brought_to_the_longest_and_no_sample_is_lost)
{
    const uint64_t clock[][4] = {{4000, 4000, 0x44, 10},
                                 {1000, 8000, 0x44, 1},
                                 {1000, 9000, 0x44, 2},
                                 {1000, 11000, 0x44, 4},
                                 {1000, 12000, 0x0, 8}};
    struct interval_matrix m;
    struct cs_error err = {0};
    filled(clock, 5, NULL, 0);
    assert_int_equal(interval_matrix_open(&m, directory, &(struct interval_filter){0}, &err), 0);
    assert_int_equal(m.length_ms, 4000);
    assert_int_equal(m.n_intervals, 3);
    assert_int_equal(at(&m, 0, "often"), 10);
    assert_int_equal(at(&m, 1, "often"), 7);
    assert_int_equal(at(&m, 2, "seldom"), 8);
    interval_matrix_close(&m);
}

TEST(a_long_recording_has_at_most_2000_intervals)
{
    const uint64_t clock[][4] = {{1000, 0, 0x44, 3}, {1000, 4999000, 0x0, 5}};
    struct interval_matrix m;
    struct cs_error err = {0};
    filled(clock, 2, NULL, 0);
    assert_int_equal(interval_matrix_open(&m, directory, &(struct interval_filter){0}, &err), 0);
    assert_true(m.n_intervals <= INTERVALS_MAX && m.n_intervals > INTERVALS_MAX / 2);
    assert_int_equal(m.totals[0] + m.totals[1], 8);
    assert_int_equal(at(&m, m.n_intervals - 1, "seldom"), 5);
    interval_matrix_close(&m);
}

TEST(the_event_with_most_samples_is_the_main_one_unless_one_is_asked_for)
{
    const uint64_t clock[][4] = {{1000, 0, 0x44, 30}},
                   faults[][4] = {{1000, 0, 0x0, 4}, {1000, 1000, 0x44, 1}};
    struct interval_matrix m;
    struct cs_error err = {0};
    filled(clock, 1, faults, 2);
    assert_int_equal(interval_matrix_open(&m, directory, &(struct interval_filter){0}, &err), 0);
    assert_int_equal(m.n_events, 2);
    assert_string_equal(m.events[m.main_event], "cpu-clock");
    assert_int_equal(m.event_counts[0 * m.n_events + (1 - m.main_event)], 4);
    interval_matrix_close(&m);
    assert_int_equal(
        interval_matrix_open(&m, directory, &(struct interval_filter){.event = "page-faults"}, &err), 0);
    assert_int_equal(m.n_events, 1);
    assert_int_equal(at(&m, 0, "seldom"), 4);
    interval_matrix_close(&m);
    assert_int_equal(interval_matrix_open(&m, directory, &(struct interval_filter){.event = "cycles"}, &err),
                     -ENOENT);
    assert_non_null(strstr(err.text, "of what was asked for"));
    interval_matrix_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(
            samples_are_counted_by_procedure_and_interval_and_the_busiest_procedure_is_first, remove_store),
        cmocka_unit_test_teardown(
            intervals_of_different_lengths_are_brought_to_the_longest_and_no_sample_is_lost, remove_store),
        cmocka_unit_test_teardown(a_long_recording_has_at_most_2000_intervals, remove_store),
        cmocka_unit_test_teardown(the_event_with_most_samples_is_the_main_one_unless_one_is_asked_for,
                                  remove_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
