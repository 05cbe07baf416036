/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/count/threads.h"
#include "store/base/kernel_files.h"

#ifdef __x86_64__
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEPS_MAX 100 /* signals that may come while we use a thread */

struct cs_count_thread *cs_count_thread(const struct cs_counting *c, pid_t tid)
{
    for (size_t i = 0; i < c->threads.n; i++)
        if (c->threads.at[i]->tid == tid)
            return c->threads.at[i];
    return NULL;
}

struct cs_count_thread *cs_count_thread_add(struct cs_counting *c, pid_t tid)
{
    assert(tid > 0 && !cs_count_thread(c, tid));
    struct cs_count_thread *t = calloc(1, sizeof *t), **at = t ? cs_array_add(&c->threads) : NULL;
    if (!at) {
        free(t);
        cs_fail(c->err, ENOMEM, "out of memory for a thread");
        return NULL;
    }
    t->tid = tid;
    return *at = t;
}

void cs_count_thread_leave_space(struct cs_count_thread *t)
{
    if (t->space && t->gs)
        cs_count_slot_free(t->space, t->gs);
    cs_count_space_close(t->space);
    t->space = NULL;
    t->gs = 0;
}

void cs_count_thread_remove(struct cs_counting *c, struct cs_count_thread *t)
{
    cs_count_thread_leave_space(t);
    for (size_t i = 0; i < c->threads.n; i++)
        if (c->threads.at[i] == t)
            c->threads.at[i] = c->threads.at[--c->threads.n];
    free(t);
}

/* A system call of ours in a stopped thread, whose registers stay as they were. */
int64_t cs_count_call_in(void *arg, uint64_t at, long number, const uint64_t argument[6])
{
    const pid_t tid = *(const pid_t *)arg;
    struct user_regs_struct was, now;
    int status;
    if (ptrace(PTRACE_GETREGS, tid, 0, &was) < 0)
        return -ESRCH;
    now = was;
    now.rip = at;
    now.orig_rax = UINT64_MAX;
    now.rax = (uint64_t)number;
    now.rdi = argument[0];
    now.rsi = argument[1];
    now.rdx = argument[2];
    now.r10 = argument[3];
    now.r8 = argument[4];
    now.r9 = argument[5];
    if (ptrace(PTRACE_SETREGS, tid, 0, &now) < 0)
        return -ESRCH;
    for (unsigned i = 0; i < STEPS_MAX; i++) {
        if (ptrace(PTRACE_SINGLESTEP, tid, 0, 0) < 0 || waitpid(tid, &status, __WALL) < 0 ||
            !WIFSTOPPED(status))
            return -ESRCH;
        if (ptrace(PTRACE_GETREGS, tid, 0, &now) < 0)
            return -ESRCH;
        if (WSTOPSIG(status) == SIGTRAP && now.rip == at + 2)
            break;
        if (WSTOPSIG(status) != SIGTRAP)
            (void)syscall(SYS_tkill, tid, WSTOPSIG(status)); /* it comes again */
    }
    return ptrace(PTRACE_SETREGS, tid, 0, &was) < 0 ? -ESRCH : (int64_t)now.rax;
}

bool cs_count_is_caught(const struct cs_count_thread *t, int signal)
{
    char caught[32];
    (void)cs_kernel_line(caught, sizeof caught, "SigCgt:", "/proc/%d/status", (int)t->tid);
    return strtoull(caught, NULL, 16) >> (signal - 1) & 1;
}

int cs_count_go_on(struct cs_count_thread *t, int signal)
{
    return ptrace(PTRACE_SYSCALL, t->tid, 0, signal) == 0 || errno == ESRCH ? 0 : -errno;
}
#endif
