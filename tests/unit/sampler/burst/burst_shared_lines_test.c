/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/burst/shared_lines.h"
#include "tests/unit/test.h"

#include <errno.h>

enum { PROCESS = 100, FIRST = 100, SECOND = 101, INSTRUCTIONS = 16000, LINE = 0x7000 };

struct seen {
    struct cs_burst_conflict at[64];
    unsigned n, asked;
    double share; /* of time that others run beside */
    int fail;
};

static double beside(void *with, pid_t pid, pid_t tid)
{
    struct seen *seen = with;
    assert_int_equal(pid, PROCESS);
    assert_true(tid > 0);
    seen->asked++;
    return seen->share;
}

static int found(void *with, const struct cs_burst_conflict *conflict)
{
    struct seen *seen = with;
    if (seen->n < 64)
        seen->at[seen->n++] = *conflict;
    return seen->fail;
}

static struct cs_burst_access access_at(uint64_t addr, bool writes, uint64_t offset)
{
    return (struct cs_burst_access){
        .addr = addr, .size = 8, .writes = writes, .executions = 2000, .offset = offset};
}

static unsigned conflicts(struct cs_burst_shared_lines *lines, pid_t tid, struct cs_burst_access a,
                          struct seen *seen)
{
    seen->n = 0;
    assert_int_equal(cs_burst_shared_lines_add(lines, PROCESS, tid, INSTRUCTIONS, &a, 1, beside, found, seen),
                     seen->fail);
    return seen->n;
}

TEST(a_line_that_two_threads_touch_and_one_writes_is_a_conflict)
{
    struct cs_burst_shared_lines *lines = cs_burst_shared_lines_open();
    struct seen seen = {.share = 1};
    assert_int_equal(conflicts(lines, SECOND, access_at(LINE, true, 0x10), &seen), 0);
    assert_int_equal(conflicts(lines, FIRST, access_at(LINE + 32, false, 0x20), &seen), 1);
    assert_int_equal(seen.at[0].own.offset, 0x20);
    assert_int_equal(seen.at[0].other.offset, 0x10);
    assert_true(seen.at[0].taken > 1999 && seen.at[0].taken <= 2000);
    assert_true(seen.at[0].instructions > 15999 && seen.at[0].instructions < 16001);
    assert_int_equal(conflicts(lines, SECOND, access_at(LINE, true, 0x10), &seen), 1);
    cs_burst_shared_lines_close(lines);
}

TEST(lines_that_both_only_read_or_one_only_uses_are_none)
{
    struct cs_burst_shared_lines *lines = cs_burst_shared_lines_open();
    struct seen seen = {.share = 1};
    assert_int_equal(conflicts(lines, SECOND, access_at(LINE, false, 0x10), &seen), 0);
    assert_int_equal(conflicts(lines, FIRST, access_at(LINE, false, 0x10), &seen), 0);
    assert_int_equal(conflicts(lines, FIRST, access_at(LINE + 64, true, 0x20), &seen), 0);
    assert_int_equal(conflicts(lines, SECOND, access_at(LINE + 128, true, 0x20), &seen), 0);
    assert_int_equal(seen.asked, 0);
    cs_burst_shared_lines_close(lines);
}

TEST(a_thread_that_does_not_run_beside_takes_no_line)
{
    struct cs_burst_shared_lines *lines = cs_burst_shared_lines_open();
    struct seen seen = {.share = 0};
    assert_int_equal(conflicts(lines, SECOND, access_at(LINE, true, 0x10), &seen), 0);
    assert_int_equal(conflicts(lines, FIRST, access_at(LINE, true, 0x10), &seen), 0);
    assert_int_equal(seen.asked, 1);
    seen.share = 0.25; /* it has a CPU for a quarter of the time */
    assert_int_equal(conflicts(lines, FIRST, access_at(LINE, true, 0x10), &seen), 1);
    assert_true(seen.at[0].taken > 499 && seen.at[0].taken < 501);
    cs_burst_shared_lines_close(lines);
}

TEST(a_line_that_the_other_thread_left_is_forgotten)
{
    struct cs_burst_shared_lines *lines = cs_burst_shared_lines_open();
    struct seen seen = {.share = 1};
    assert_int_equal(conflicts(lines, SECOND, access_at(LINE, true, 0x10), &seen), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(conflicts(lines, SECOND, access_at(LINE + 640, true, 0x10), &seen), 0);
    assert_int_equal(conflicts(lines, FIRST, access_at(LINE, true, 0x10), &seen), 0);
    cs_burst_shared_lines_close(lines);
}

TEST(who_overlaps_stands_for_the_other_thread)
{
    struct cs_burst_shared_lines *lines = cs_burst_shared_lines_open();
    struct seen seen = {.share = 1};
    struct cs_burst_access others[] = {access_at(LINE, true, 0x10), access_at(LINE + 8, true, 0x14)};
    others[1].executions = 100;
    assert_int_equal(
        cs_burst_shared_lines_add(lines, PROCESS, SECOND, INSTRUCTIONS, others, 2, beside, found, &seen), 0);
    assert_int_equal(conflicts(lines, FIRST, access_at(LINE + 8, false, 0x20), &seen), 1);
    assert_int_equal(seen.at[0].other.offset, 0x14);
    assert_int_equal(conflicts(lines, FIRST, access_at(LINE + 16, false, 0x20), &seen), 1);
    assert_int_equal(seen.at[0].other.offset, 0x10);
    cs_burst_shared_lines_close(lines);
}

TEST(nothing_is_kept_of_a_process_of_one_thread_nor_compared_with_another_process)
{
    struct cs_burst_shared_lines *lines = cs_burst_shared_lines_open();
    struct seen seen = {.share = 1};
    struct cs_burst_access a = access_at(LINE, true, 0x10);
    assert_false(cs_burst_shared_lines_wanted(lines, PROCESS, PROCESS));
    assert_int_equal(conflicts(lines, FIRST, a, &seen), 0);
    assert_int_equal(cs_burst_shared_lines_add(lines, 7, 8, INSTRUCTIONS, &a, 1, beside, found, &seen), 0);
    assert_true(cs_burst_shared_lines_wanted(lines, PROCESS, PROCESS));
    assert_int_equal(conflicts(lines, FIRST, a, &seen), 0);
    assert_int_equal(seen.asked, 0);
    cs_burst_shared_lines_close(lines);
}

/* A hostile program: all lines, all threads, all instructions, no instructions. What it costs is bounded, and it is whole. */
TEST(any_accesses_are_taken_and_a_failure_is_returned)
{
    struct cs_burst_shared_lines *lines = cs_burst_shared_lines_open();
    struct seen seen = {.share = 1};
    static struct cs_burst_access many[4096];
    uint64_t random = 1;
    for (pid_t tid = 1; tid < 60; tid++) {
        for (unsigned i = 0; i < 4096; i++) {
            random = random * 6364136223846793005ULL + 1442695040888963407ULL;
            many[i] = access_at(random >> 40 << (random & 40), random >> 63, random >> 50);
            many[i].executions = (uint32_t)random;
        }
        seen.asked = 0;
        assert_int_equal(cs_burst_shared_lines_add(lines, PROCESS, tid, tid % 3 ? UINT32_MAX : 0, many, 4096,
                                                   beside, found, &seen),
                         0);
        assert_true(seen.asked <= 16);
    }
    assert_int_equal(cs_burst_shared_lines_add(lines, PROCESS, 1, 1, NULL, 0, beside, found, &seen), 0);
    for (unsigned i = 0; i < seen.n; i++)
        assert_true(seen.at[i].taken >= 0 && seen.at[i].taken <= seen.at[i].own.executions);
    assert_int_equal(conflicts(lines, SECOND, access_at(LINE, true, 0x10), &seen), 0);
    seen.fail = -ENOMEM;
    seen.n = 0;
    struct cs_burst_access a = access_at(LINE, true, 0x10);
    assert_int_equal(
        cs_burst_shared_lines_add(lines, PROCESS, FIRST, INSTRUCTIONS, &a, 1, beside, found, &seen), -ENOMEM);
    cs_burst_shared_lines_close(lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_that_two_threads_touch_and_one_writes_is_a_conflict),
        cmocka_unit_test(lines_that_both_only_read_or_one_only_uses_are_none),
        cmocka_unit_test(a_thread_that_does_not_run_beside_takes_no_line),
        cmocka_unit_test(a_line_that_the_other_thread_left_is_forgotten),
        cmocka_unit_test(who_overlaps_stands_for_the_other_thread),
        cmocka_unit_test(nothing_is_kept_of_a_process_of_one_thread_nor_compared_with_another_process),
        cmocka_unit_test(any_accesses_are_taken_and_a_failure_is_returned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
