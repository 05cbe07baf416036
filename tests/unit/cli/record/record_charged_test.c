/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/record/record_charged.h"
#include "tests/unit/test.h"

#include <sys/wait.h>
#include <unistd.h>

TEST(what_chance_may_miss_is_no_difference)
{
    assert_true(!record_charged_is_more(2.00, 1.96, 1960)); /* 2 % */
    assert_true(!record_charged_is_more(2.00, 2.10, 2100)); /* more samples than were charged */
    assert_true(!record_charged_is_more(0.20, 0.16, 16));   /* four of twenty samples */
    assert_true(!record_charged_is_more(0.05, 0.01, 1000)); /* a program's start and end */
    assert_true(!record_charged_is_more(2.00, 0, 0));
}

TEST(time_without_samples_is_a_difference)
{
    assert_true(record_charged_is_more(2.726, 2.004, 2004)); /* redis-server, docs/lab/sampling.md */
    assert_true(record_charged_is_more(2.76, 2.12, 2120));
    assert_true(record_charged_is_more(5.29, 2.31, 2310));
    assert_true(record_charged_is_more(2.00, 1.80, 18000));
    assert_true(!record_charged_is_more(2.00, 1.80, 1000)); /* 3.5 deviations */
}

TEST(a_process_has_a_clock_and_one_that_has_ended_has_none)
{
    struct charged charged = {.n = 0};
    int hold[2];
    assert_true(pipe(hold) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(hold[1]);
        _exit(read(hold[0], &byte, 1) != 0);
    }
    close(hold[0]);
    struct cs_sampler_config config = {
        .target = CS_TARGET_PID, .pid = getpid(), .more_pids = &pid, .n_more_pids = 1};
    record_charged_begin(&charged, &config);
    for (volatile unsigned i = 0; i < 3000000; i++)
        ;
    record_charged_end(&charged);
    assert_true(charged.n == 2 && charged.from_ns > 0 && charged.to_ns > charged.from_ns + 100000);
    close(hold[1]);
    assert_true(waitpid(pid, NULL, 0) == pid);
    record_charged_end(&charged);
    assert_true(charged.to_ns == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_chance_may_miss_is_no_difference),
        cmocka_unit_test(time_without_samples_is_a_difference),
        cmocka_unit_test(a_process_has_a_clock_and_one_that_has_ended_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
