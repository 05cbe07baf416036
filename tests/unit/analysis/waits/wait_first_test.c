/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which wait is named first. Waits for a CPU that others had depend on the machine. Many short waits are a cause of their
 * own. */
#include "analysis/waits/wait_groups.h"
#include "tests/unit/test.h"

#include <string.h>

#define SECOND 1000000000ULL

static struct cs_wait_length lengths[3];

static struct cs_wait_group waited(const char *kind, const char *where, uint64_t ns, uint64_t count,
                                   unsigned i)
{
    lengths[i] = (struct cs_wait_length){(double)ns / (double)count, count};
    return (struct cs_wait_group){.kind = kind,
                                  .where = where,
                                  .via = "",
                                  .ns = ns,
                                  .count = count,
                                  .longest_ns = ns / count,
                                  .lengths = &lengths[i],
                                  .n_lengths = 1,
                                  .reading = CS_WAIT_IS_WAIT};
}

TEST(waits_for_a_cpu_that_others_had_come_after_the_programs_own)
{
    struct cs_wait_group groups[] = {waited("run-queue", "append", 6 * SECOND, 3000, 0),
                                     waited("file", "append", SECOND / 2, 3000, 1)};
    struct cs_wait_groups w = {.at = groups, .n = 2, .all_ns = 7 * SECOND, .on_ns = SECOND / 4};
    assert_ptr_equal(cs_wait_first(&w), &groups[1]);
    groups[0].facts.by_own_ns = 5 * SECOND; /* own threads had it: too many of them */
    assert_ptr_equal(cs_wait_first(&w), &groups[0]);
}

TEST(a_program_that_only_waited_for_a_busy_machine_has_no_wait_to_mend)
{
    struct cs_wait_group groups[] = {waited("run-queue", "compute", 6 * SECOND, 3000, 0),
                                     waited("file", "load", SECOND / 10, 30, 1)};
    struct cs_wait_groups w = {.at = groups, .n = 2, .all_ns = 10 * SECOND, .on_ns = 4 * SECOND};
    bool own = true;
    assert_null(cs_wait_first(&w));
    assert_int_equal(cs_wait_for_cpu_ns(&w, &own), 6 * SECOND);
    assert_false(own);
}

TEST(beside_a_busy_machine_what_may_be_idle_is_named_if_there_is_nothing_else)
{
    struct cs_wait_group groups[] = {waited("run-queue", "take", 5 * SECOND, 3000, 0),
                                     waited("sleep", "take", 8 * SECOND, 3000, 1)};
    struct cs_wait_groups w = {
        .at = groups, .n = 2, .all_ns = 14 * SECOND, .on_ns = SECOND / 4, .either_ns = 8 * SECOND};
    groups[1].reading = CS_WAIT_IS_EITHER;
    assert_ptr_equal(cs_wait_first(&w), &groups[1]);
    w.on_ns = 9 * SECOND; /* and ran longer */
    assert_null(cs_wait_first(&w));
}

TEST(a_spare_thread_of_a_program_that_works_is_not_named)
{
    struct cs_wait_group groups[] = {waited("run-queue", "serve", SECOND, 80000, 0),
                                     waited("condition", "spare", 24 * SECOND, 3, 1)};
    struct cs_wait_groups w = {
        .at = groups, .n = 2, .all_ns = 40 * SECOND, .on_ns = 5 * SECOND, .either_ns = 24 * SECOND};
    groups[1].reading = CS_WAIT_IS_EITHER;
    assert_ptr_equal(cs_wait_first(&w), &groups[1]); /* somebody ended it */
    groups[1].facts.no_end_ns = groups[1].ns;
    assert_null(cs_wait_first(&w));
    w.on_ns = SECOND / 2; /* it may hang */
    assert_ptr_equal(cs_wait_first(&w), &groups[1]);
}

TEST(a_join_is_no_wait_to_mend_because_the_joined_thread_has_rows_of_its_own)
{
    struct cs_wait_group groups[] = {waited("join", "main", 8 * SECOND, 2, 0),
                                     waited("mutex", "add", 5 * SECOND, 3000, 1)};
    struct cs_wait_groups w = {.at = groups, .n = 2, .all_ns = 20 * SECOND, .on_ns = 4 * SECOND};
    assert_ptr_equal(cs_wait_first(&w), &groups[1]);
    w.n = 1; /* the threads computed */
    assert_null(cs_wait_first(&w));
}

TEST(very_many_short_waits_are_named_with_their_number_and_rate)
{
    struct cs_wait_group groups[] = {waited("run-queue", "put", 3 * SECOND, 600000, 0),
                                     waited("condition", "take", SECOND / 2, 250000, 1),
                                     waited("condition", "put", SECOND / 2, 250000, 2)};
    struct cs_wait_groups w = {.at = groups, .n = 3, .all_ns = 10 * SECOND, .on_ns = 4 * SECOND};
    char text[600];
    assert_ptr_equal(cs_wait_first(&w), &groups[1]);
    cs_wait_first_text(&w, &groups[1], text, sizeof text);
    assert_non_null(strstr(text, "500000 times for condition in take"));
    assert_non_null(strstr(text, "50000 a second"));
    lengths[1].ns = lengths[2].ns = 100e3; /* long enough to be waits for something */
    assert_null(cs_wait_first(&w));
    lengths[1].ns = lengths[2].ns = 2e3;
    lengths[1].count = lengths[2].count = groups[1].count = groups[2].count =
        2500; /* too few to cost anything */
    assert_null(cs_wait_first(&w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_a_cpu_that_others_had_come_after_the_programs_own),
        cmocka_unit_test(a_program_that_only_waited_for_a_busy_machine_has_no_wait_to_mend),
        cmocka_unit_test(beside_a_busy_machine_what_may_be_idle_is_named_if_there_is_nothing_else),
        cmocka_unit_test(a_spare_thread_of_a_program_that_works_is_not_named),
        cmocka_unit_test(a_join_is_no_wait_to_mend_because_the_joined_thread_has_rows_of_its_own),
        cmocka_unit_test(very_many_short_waits_are_named_with_their_number_and_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
