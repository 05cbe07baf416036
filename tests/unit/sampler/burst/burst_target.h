/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes to follow, and the runner of one of them. */
#ifndef CS_TESTS_UNIT_SAMPLER_BURST_BURST_TARGET_H
#define CS_TESTS_UNIT_SAMPLER_BURST_BURST_TARGET_H

#include "sampler/burst/runner_process.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

typedef void body(void);
#ifdef __clang__
#define KEPT __attribute__((noinline, used, no_sanitize("address", "undefined", "thread")))
#define AS_WRITTEN _Pragma("clang loop unroll(disable)") /* the loop that follows */
#else
#define KEPT __attribute__((noinline, noclone, used, no_sanitize("address", "undefined", "thread")))
#define AS_WRITTEN _Pragma("GCC unroll 1")
#endif

__attribute__((unused)) static pid_t child(body *run)
{
#ifdef __SANITIZE_THREAD__
    skip(); /* the runner's copies lie where this sanitizer has its shadow */
#endif
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run();
        _exit(0);
    }
    usleep(20000); /* sleeps: it is where it works or waits */
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static struct cs_burst_runner *runner_of(pid_t pid)
{
    struct cs_burst_runner *runner;
    struct cs_error err = {0};
    double spent_us;
    int rc = cs_burst_runner_open(pid, &runner, &spent_us, &err);
    if (rc == -EACCES || rc == -EPERM || rc == -ENOSYS) {
        end(pid);
        skip();
    }
    if (rc)
        fail_msg("%s", err.text);
    return runner;
}

__attribute__((unused)) static const struct cs_burst_shared *go(struct cs_burst_runner *runner, pid_t tid,
                                                                uint32_t instructions, uint32_t verify)
{
    struct cs_error err = {0};
    struct cs_burst_command command = {.tid = (uint32_t)tid,
                                       .instructions = instructions,
                                       .lead_ns = 30000,
                                       .timeout_ms = 1000,
                                       .stopped_max_us = 100000,
                                       .verify = verify};
    const struct cs_burst_shared *answer = cs_burst_runner_go(runner, &command, &err);
    if (!answer)
        fail_msg("%s", err.text);
    if (answer->outcome.skip == CS_BURST_SKIP_NO_EVENT || answer->outcome.skip == CS_BURST_SKIP_DENIED) {
        cs_burst_runner_close(runner);
        end(tid);
        skip();
    }
    return answer;
}

#define TEN 10
KEPT static void loops_of_ten(void)
{
    for (;;) {
        int ten = TEN;
        __asm__ volatile("" : "+r"(ten)); /* a compiler that knows how often makes ten pieces of it */
        AS_WRITTEN
        for (int i = 0; i < ten; i++)
            __asm__ volatile("" : : "r"(i) : "memory");
    }
}

#endif
