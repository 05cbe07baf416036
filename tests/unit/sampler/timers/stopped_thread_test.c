/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The chain of a stopped thread is whole at each instruction of a function with a frame pointer, the epilogue's too. At
 * its `ret` rows still say that the caller's frame pointer lies on the stack, where it was popped from. Source: System
 * V ABI 3.2.2. */
#include "sampler/timers/stopped_thread.h"
#include "tests/unit/test.h"

#include <alloca.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 20        /* of the loop below */
#define STEPS_MAX 200000 /* a sanitizer's checks are steps, too */

static volatile unsigned n_bytes = 64, sink;

__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void callee(volatile char *at)
{
    at[0] = (char)sink++;
}

/* Its size is known at run time alone, so its caller is found by the frame pointer. */
__attribute__((noinline)) static void by_frame_pointer(void)
{
    char *some = alloca(n_bytes);
    callee(some);
    sink += (unsigned char)some[0];
}

static pid_t started(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        for (;;)
            by_frame_pointer();
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSTOPPED(status));
    assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL), 0);
    return pid;
}

static void nobody_told(void *arg, const struct cs_mapped_file *file)
{
    (void)arg;
    (void)file;
}

TEST(a_chain_is_whole_at_each_instruction)
{
    pid_t pid = started();
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int memory = open(path, O_RDONLY | O_CLOEXEC), status;
    assert_true(memory >= 0);
    static struct process_tables tables;
    struct process_tables_time time = {0};
    process_tables_read(&tables, &time, pid, memory, true, nobody_told, NULL);

    static struct stopped_thread stopped;
    unsigned seen = 0;
    for (unsigned i = 0; seen < ROUNDS && i < STEPS_MAX; i++) {
        uint64_t pcs[64];
        enum cs_unwind_end end;
        assert_true(stopped_thread_note(&stopped, pid, memory));
        size_t n = stopped_thread_chain(&stopped, &tables, pcs, 64, &end);
        uint64_t in = pcs[0] - (uint64_t)(uintptr_t)callee;
        if (end != CS_UNWIND_END_COMPLETE)
            fail_msg("step %u, callee%+lld: ended by %d after %zu frames", i, (long long)in, (int)end, n);
        seen += in == 0;
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSTOPPED(status));
    }
    assert_int_equal(seen, ROUNDS);
    process_tables_fini(&tables);
    close(memory);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_chain_is_whole_at_each_instruction)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
