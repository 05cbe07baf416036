/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Alone: it asks who has a CPU. */
/* The CPU time of runners, whatever ends them. */
#include "sampler/burst/runner_process.h"
#include "tests/unit/sampler/burst/burst_target.h"

#include <sys/resource.h>
#include <time.h>

static double children_us(void)
{
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* The kernel's account of children that were waited for is the truth. */
static void a_closed_runner_tells_all_its_time(void **state)
{
    (void)state;
    pid_t pid = child(loops_of_ten);
    double before = children_us();
    struct cs_burst_runner *runner = runner_of(pid);
    for (int i = 0; i < 5; i++)
        go(runner, pid, 4000, 0);
    double so_far = cs_burst_runner_cpu_us(runner), in_all = cs_burst_runner_close(runner),
           truth = children_us() - before;
    assert_true(so_far > 0 && so_far < in_all);
    assert_true(in_all > truth - 10 && in_all < truth + 10);
    end(pid);
}

static void a_killed_runner_tells_all_its_time_too(void **state)
{
    (void)state;
    pid_t pid = child(loops_of_ten);
    double before = children_us();
    struct cs_burst_runner *runner = runner_of(pid);
    struct cs_error err = {0};
    struct cs_burst_command command = {
        .tid = (uint32_t)pid, .instructions = 4000, .lead_ns = 30000, .timeout_ms = 100};
    for (int i = 0; i < 5; i++)
        go(runner, pid, 4000, 0);
    clockid_t clock;
    struct timespec time = {0, 0};
    assert_int_equal(clock_getcpuclockid(cs_burst_runner_replayer(runner), &clock), 0);
    clock_gettime(clock, &time); /* it isn't our child */
    double replayer = (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
    kill(cs_burst_runner_pid(runner), SIGKILL);
    assert_null(cs_burst_runner_go(runner, &command, &err));
    double holder = children_us() - before, in_all = cs_burst_runner_close(runner);
    assert_true(in_all > holder + replayer - 10);
    assert_true(in_all < holder + replayer + 50000); /* until it has died, too */
    end(pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closed_runner_tells_all_its_time),
        cmocka_unit_test(a_killed_runner_tells_all_its_time_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
