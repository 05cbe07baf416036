/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Alone: it asks who has a CPU. */
/* Threads that are no good for a burst, or ask for care: they are left alone, with no signal pending. Skipped where the
 * machine or our rights don't allow bursts. */
#include "tests/unit/sampler/burst/burst_target.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <time.h>

KEPT static void deaf(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    loops_of_ten();
}

static void has_a_child(void)
{
    pid_t parent = getpid();
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent)
            pause();
        _exit(0);
    }
}

KEPT static void parent(void)
{
    has_a_child();
    loops_of_ten();
}

static void *pausing(void *arg)
{
    pause();
    return arg;
}

KEPT static void parent_of_threads(void)
{
    pthread_t other;
    pthread_create(&other, NULL, pausing, NULL);
    parent();
}

static void ends(int number)
{
    _exit(number);
}
KEPT static void deaf_but_for_one(void)
{
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGURG);
    sigdelset(&all, SIGCHLD);
    sigdelset(&all, SIGWINCH);
    sigprocmask(SIG_BLOCK, &all, NULL);
    signal(SIGURG, ends);
    signal(SIGCHLD, ends);
    loops_of_ten();
}

KEPT static void sleeping(void)
{
    for (;;)
        pause();
}

static void *sends_to_all(void *arg)
{
    for (;;) {
        usleep(300); /* sleeps: often, and yet it works meanwhile */
        kill(getpid(), SIGWINCH);
    }
    return arg;
}

KEPT static void gets_signals_all_the_time(void)
{
    pthread_t pauses, sends;
    pthread_create(&pauses, NULL, pausing, NULL);
    pthread_create(&sends, NULL, sends_to_all, NULL);
    loops_of_ten();
}

/* Signals that it has pending. */
static uint64_t pending(pid_t pid)
{
    char path[64], line[128];
    unsigned long long mask = 0, all = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "SigPnd: %llx", &mask) == 1 || sscanf(line, "ShdPnd: %llx", &mask) == 1)
            all |= mask;
    fclose(file);
    return all;
}

static void who_blocks_every_signal_is_left_alone(void **state)
{
    (void)state;
    pid_t pid = child(deaf);
    struct cs_burst_runner *runner = runner_of(pid);
    assert_int_equal(go(runner, pid, 1000, 0)->outcome.skip, CS_BURST_SKIP_BLOCKED);
    assert_int_equal(pending(pid), 0);
    cs_burst_runner_close(runner);
    end(pid);
}

/* Its child's end would end a call of another thread. */
static void who_has_a_child_and_other_threads_is_left_alone(void **state)
{
    (void)state;
    pid_t pid = child(parent_of_threads), alone = child(parent);
    struct cs_burst_runner *runner = runner_of(pid), *of_alone = runner_of(alone);
    assert_int_equal(go(runner, pid, 1000, 0)->outcome.skip, CS_BURST_SKIP_CHILDREN);
    assert_int_equal(go(of_alone, alone, 1000, 0)->outcome.skip, CS_BURST_SKIP_NONE);
    cs_burst_runner_close(runner);
    cs_burst_runner_close(of_alone);
    end(pid);
    end(alone);
}

/* A signal that nobody handles, sent to all, wakes another thread while the first one stands. After one was seen that one is left
 * alone, for longer each time. About one burst of 140 sees one: those that come while the thread stands go to the other. */
static void who_gets_signals_all_the_time_is_left_alone(void **state)
{
    (void)state;
    pid_t pid = child(gets_signals_all_the_time);
    struct cs_burst_runner *runner = runner_of(pid);
    unsigned tries = 0;
    while (go(runner, pid, 1000, 0)->outcome.skip != CS_BURST_SKIP_IGNORED)
        assert_in_range(++tries, 1, 5000);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(go(runner, pid, 1000, 0)->outcome.skip, CS_BURST_SKIP_IGNORED);
    usleep(1100000); /* sleeps: for a second it is left alone */
    assert_int_not_equal(go(runner, pid, 1000, 0)->outcome.skip, CS_BURST_SKIP_IGNORED);
    cs_burst_runner_close(runner);
    end(pid);
}

/* One of the three signals that do nothing is enough: a thread that leaves SIGTRAP to others, and handles SIGURG and SIGCHLD. */
static void who_blocks_sigtrap_is_followed_and_has_none_pending(void **state)
{
    (void)state;
    pid_t pid = child(deaf_but_for_one);
    struct cs_burst_runner *runner = runner_of(pid);
    unsigned followed = 0;
    for (int i = 0; i < 20; i++) {
        followed += go(runner, pid, 1000, 0)->outcome.skip == CS_BURST_SKIP_NONE;
        assert_int_equal(pending(pid), 0);
    }
    assert_in_range(followed, 15, 20);
    cs_burst_runner_close(runner);
    end(pid);
}

static void who_sleeps_is_let_go_in_time(void **state)
{
    (void)state;
    pid_t pid = child(sleeping);
    struct cs_burst_runner *runner = runner_of(pid);
    struct cs_error err;
    struct cs_burst_command command = {
        .tid = (uint32_t)pid, .instructions = 100, .lead_ns = 30000, .timeout_ms = 20};
    const struct cs_burst_shared *answer = cs_burst_runner_go(runner, &command, &err);
    assert_non_null(answer);
    if (answer->outcome.skip != CS_BURST_SKIP_NO_EVENT)
        assert_int_equal(answer->outcome.skip, CS_BURST_SKIP_ASLEEP);
    /* and a debugger can have it now, although the runner lives on */
    assert_int_equal(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
    cs_burst_runner_close(runner);
    end(pid);
}

static void who_is_being_debugged_is_left_alone(void **state)
{
    (void)state;
    pid_t pid = child(loops_of_ten);
    struct cs_burst_runner *runner = runner_of(pid);
    assert_int_equal(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
    assert_int_equal(go(runner, pid, 1000, 0)->outcome.skip, CS_BURST_SKIP_TRACED);
    cs_burst_runner_close(runner);
    end(pid);
}

static void who_has_ended_is_gone(void **state)
{
    (void)state;
    struct cs_error err = {0};
    struct cs_burst_runner *runner;
    double spent_us;
    pid_t pid = child(loops_of_ten);
    runner = runner_of(pid);
    end(pid);
    struct cs_burst_command command = {
        .tid = (uint32_t)pid, .instructions = 100, .lead_ns = 30000, .timeout_ms = 100};
    const struct cs_burst_shared *answer = cs_burst_runner_go(runner, &command, &err);
    assert_non_null(answer);
    assert_int_equal(answer->outcome.skip, CS_BURST_SKIP_GONE);
    cs_burst_runner_close(runner);
    assert_int_equal(cs_burst_runner_open(pid, &runner, &spent_us, &err), -ESRCH);
    assert_null(runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_blocks_every_signal_is_left_alone),
        cmocka_unit_test(who_has_a_child_and_other_threads_is_left_alone),
        cmocka_unit_test(who_gets_signals_all_the_time_is_left_alone),
        cmocka_unit_test(who_blocks_sigtrap_is_followed_and_has_none_pending),
        cmocka_unit_test(who_sleeps_is_let_go_in_time),
        cmocka_unit_test(who_is_being_debugged_is_left_alone),
        cmocka_unit_test(who_has_ended_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
