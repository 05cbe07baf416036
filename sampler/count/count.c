/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The traced threads. Each stop of one is handled to its end before the next. A thread stops at system calls, at signals, and where
 * its translation ends. The frame of a signal has an address of ours as the program counter. Sigreturn goes back there, and
 * what the interrupted code had in its slot is put back then. */
#include "sampler/count/count.h"

#ifdef __x86_64__
#include "sampler/count/threads.h"
#include "store/base/array.h"

#include <asm/prctl.h>
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS                                                                                              \
    (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |                 \
     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL)

static volatile sig_atomic_t time_is_over;

static void on_alarm(int number)
{
    (void)number;
    time_is_over = 1;
}

static struct cs_count_caller caller_of(struct cs_counting *c, struct cs_count_thread *t)
{
    return (struct cs_count_caller){cs_count_call_in, &t->tid, t->tid, c->images};
}

/* At the program's address `pc`: there, in translated code. */
static int enter(struct cs_counting *c, struct cs_count_thread *t, struct user_regs_struct *regs, uint64_t pc)
{
    const struct cs_count_caller caller = caller_of(c, t);
    const uint64_t code = cs_count_code_of(t->space, &caller, pc, c->err);
    if (!code)
        return -ENOTSUP;
    regs->rip = code;
    return ptrace(PTRACE_SETREGS, t->tid, 0, regs) < 0 ? -ESRCH : 0;
}

/* The first instruction of a program is next. */
static int begin_program(struct cs_counting *c, struct cs_count_thread *t)
{
    struct user_regs_struct regs;
    const struct cs_count_caller caller = caller_of(c, t);
    cs_count_thread_leave_space(t);
    t->n_handlers = 0;
    if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs) < 0)
        return -ESRCH;
    if (regs.cs != 0x33)
        return cs_fail(c->err, ENOTSUP, "it is a program of 32 bits");
    t->space = cs_count_space_open(&caller, regs.rip, c->err);
    if (!t->space)
        return -ENOTSUP;
    t->gs = cs_count_slot(t->space);
    if (!t->gs)
        return cs_fail(c->err, EFAULT, "its memory can't be written");
    c->summary->processes++;
    regs.gs_base = t->gs;
    regs.orig_rax = UINT64_MAX;
    return enter(c, t, &regs, regs.rip);
}

/* A thread or a child that has begun: its own slot, and on with it. */
static int adopt(struct cs_counting *c, struct cs_count_thread *parent, struct cs_count_thread *t)
{
    struct user_regs_struct regs;
    const bool shares = syscall(SYS_kcmp, parent->tid, t->tid, KCMP_VM, 0, 0) == 0;
    memcpy(t->handler, parent->handler, sizeof t->handler);
    t->n_handlers = parent->n_handlers;
    if (shares) {
        t->space = parent->space;
        t->space->users++;
        t->gs = cs_count_slot(t->space);
        if (!t->gs)
            return cs_fail(c->err, E2BIG, "it has more than %u threads", CS_COUNT_SLOTS);
        if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs) < 0)
            return 0; /* it was killed */
        regs.gs_base = t->gs;
        return ptrace(PTRACE_SETREGS, t->tid, 0, &regs) < 0 ? -ESRCH : 0;
    }
    t->space = cs_count_space_copy(parent->space, t->tid, c->err);
    if (!t->space)
        return -ENOTSUP;
    t->gs = parent->gs; /* as the copy of its registers has it */
    memset(t->space->slot_used, 0, sizeof t->space->slot_used);
    t->space->slot_used[cs_count_slot_number(t->space, t->gs)] = true;
    c->summary->processes++;
    return cs_count_slot_clear(t->space, t->gs) < 0
               ? cs_fail(c->err, EFAULT, "the memory of a child can't be written")
               : 0;
}

/* An event of the parent. The child may have stopped already; it is waited for, so that it is adopted before it runs. */
static int on_child(struct cs_counting *c, struct cs_count_thread *parent)
{
    unsigned long tid;
    int status;
    if (ptrace(PTRACE_GETEVENTMSG, parent->tid, 0, &tid) < 0)
        return cs_count_go_on(parent, 0);
    struct cs_count_thread *t = cs_count_thread(c, (pid_t)tid);
    if (!t) {
        if (waitpid((pid_t)tid, &status, __WALL) < 0 || !WIFSTOPPED(status))
            return cs_count_go_on(parent, 0); /* it was killed */
        t = cs_count_thread_add(c, (pid_t)tid);
        if (!t)
            return -ENOMEM;
    }
    t->stopped = false;
    int rc = adopt(c, parent, t);
    rc = rc < 0 && rc != -ESRCH ? rc : cs_count_go_on(t, 0);
    return rc < 0 ? rc : cs_count_go_on(parent, 0);
}

static int on_call_entry(struct cs_counting *c, struct cs_count_thread *t)
{
    struct user_regs_struct regs;
    assert(t->space); /* between an exec and its return there is no other call */
    if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs) < 0)
        return 0;
    t->in_call = true;
    t->call = regs.orig_rax;
    t->argument[0] = regs.rdi;
    t->argument[1] = regs.rsi;
    t->argument[2] = regs.rdx;
    c->summary->system_calls++;
    switch (t->call) {
    case SYS_rt_sigreturn:
        while (t->n_handlers && t->handler[t->n_handlers - 1].frame < regs.rsp)
            t->n_handlers--; /* left by a jump */
        if (t->n_handlers && t->handler[t->n_handlers - 1].frame == regs.rsp)
            (void)pwrite(t->space->mem, t->handler[--t->n_handlers].scratch, CS_COUNT_SCRATCH, (off_t)t->gs);
        return 0;
    case SYS_arch_prctl:
        return t->argument[0] == ARCH_SET_GS ? cs_fail(c->err, ENOTSUP, "it uses the segment register GS")
                                             : 0;
    case SYS_execve:
    case SYS_execveat:
        return cs_count_tally_add(&c->tally, t->space, t->gs, c->err);
    default:
        return 0;
    }
}

static int on_call_exit(struct cs_counting *c, struct cs_count_thread *t)
{
    struct user_regs_struct regs;
    t->in_call = false;
    if (t->exec) {
        t->exec = false;
        return begin_program(c, t);
    }
    const bool maps = t->call == SYS_mmap || t->call == SYS_mprotect || t->call == SYS_pkey_mprotect ||
                      t->call == SYS_mremap;
    if (!(maps && (t->call == SYS_mremap || t->argument[2] & PROT_EXEC)) && t->call != SYS_rt_sigreturn)
        return 0;
    if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs) < 0)
        return 0;
    if (t->call == SYS_rt_sigreturn)
        return cs_count_in_areas(t->space, regs.rip) ? 0 : enter(c, t, &regs, regs.rip);
    const uint64_t start = t->call == SYS_mmap || t->call == SYS_mremap ? regs.rax : t->argument[0];
    const uint64_t bytes = t->call == SYS_mremap ? t->argument[2] : t->argument[1];
    return (int64_t)regs.rax < 0 && (int64_t)regs.rax > -4096 ? 0
           : cs_count_mapped(t->space, start, bytes)
               ? 0
               : cs_fail(c->err, ENOTSUP, "it replaces its code as it runs");
}

/* By one step to the handler's first instruction. Without a handler the step would run the program's next system call unseen. */
static int deliver(struct cs_count_thread *t, int signal)
{
    struct user_regs_struct regs;
    uint8_t code[2 * CS_COUNT_AROUND];
    assert(t->space);
    if (!cs_count_is_caught(t, signal))
        return cs_count_go_on(t, signal);
    if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs) < 0)
        return 0; /* it was killed */
    if (cs_count_in_areas(t->space, regs.rip) &&
        pread(t->space->mem, code, sizeof code, (off_t)(regs.rip - CS_COUNT_AROUND)) == sizeof code) {
        const unsigned back = cs_count_back_to_load(code);
        regs.rip -= back;
        if (back && ptrace(PTRACE_SETREGS, t->tid, 0, &regs) < 0)
            return errno == ESRCH ? 0 : -errno;
    }
    t->stepping = true;
    return ptrace(PTRACE_SINGLESTEP, t->tid, 0, signal) == 0 || errno == ESRCH ? 0 : -errno;
}

/* 1: the trap is the program's own. */
static int on_trap(struct cs_counting *c, struct cs_count_thread *t)
{
    struct user_regs_struct regs;
    const bool stepping = t->stepping;
    const struct cs_count_caller caller = caller_of(c, t);
    t->stepping = false;
    if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs) < 0)
        return 0;
    const uint64_t code = cs_count_after_trap(t->space, &caller, regs.rip - 1, t->gs, c->err);
    if (*c->err->text)
        return -ENOTSUP;
    if (code) {
        regs.rip = code;
        return ptrace(PTRACE_SETREGS, t->tid, 0, &regs) < 0 && errno != ESRCH ? -errno : 0;
    }
    if (stepping && cs_count_in_areas(t->space, regs.rip))
        return 0;
    if (!stepping)
        return 1;
    if (t->n_handlers == CS_COUNT_HANDLERS_MAX)
        memmove(t->handler, t->handler + 1, --t->n_handlers * sizeof t->handler[0]);
    struct cs_count_handler *h = &t->handler[t->n_handlers++];
    h->frame = regs.rsp + 8; /* sigreturn comes when the handler's return address is gone */
    if (pread(t->space->mem, h->scratch, sizeof h->scratch, (off_t)t->gs) != sizeof h->scratch)
        return cs_fail(c->err, EFAULT, "its memory can't be read");
    return enter(c, t, &regs, regs.rip);
}

static int on_stop(struct cs_counting *c, struct cs_count_thread *t, int status)
{
    const int signal = WSTOPSIG(status), event = status >> 16;
    int rc = 0;
    if (event == PTRACE_EVENT_EXIT) {
        rc = t->space ? cs_count_tally_add(&c->tally, t->space, t->gs, c->err) : 0;
        return rc < 0 ? rc : cs_count_go_on(t, 0);
    }
    if (event == PTRACE_EVENT_EXEC) {
        t->exec = true;
        t->stepping = false;
        t->in_call = true;
        return cs_count_go_on(t, 0);
    }
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE)
        return on_child(c, t);
    if (event)
        return cs_count_go_on(t, 0);
    if (!t->space && !t->exec && signal != (SIGTRAP | 0x80))
        return cs_count_go_on(t, signal == SIGTRAP || signal == SIGSTOP ? 0
                                                                        : signal); /* before the first exec */
    if (signal == (SIGTRAP | 0x80)) {
        if (t->space || t->exec)
            rc = t->in_call ? on_call_exit(c, t) : on_call_entry(c, t);
        return rc < 0 ? rc : cs_count_go_on(t, 0);
    }
    if (signal == SIGTRAP) {
        rc = on_trap(c, t);
        return rc == 1 ? deliver(t, signal) : rc < 0 ? rc : cs_count_go_on(t, 0);
    }
    if (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)
        return cs_count_go_on(t, 0); /* a measurement doesn't pause */
    return deliver(t, signal);
}

static void kill_all(struct cs_counting *c)
{
    int status;
    for (size_t i = 0; i < c->threads.n; i++)
        (void)kill(c->threads.at[i]->tid, SIGKILL);
    for (pid_t tid; (tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR;)
        if (tid > 0 && WIFSTOPPED(status))
            (void)ptrace(status >> 16 == PTRACE_EVENT_EXIT ? PTRACE_CONT : PTRACE_KILL, tid, 0, 0);
}

static int watch(struct cs_counting *c, double seconds)
{
    int status, rc = 0;
    while (rc >= 0) {
        const pid_t tid = waitpid(-1, &status, __WALL);
        if (time_is_over)
            return cs_fail(c->err, ETIME, "counting it takes more than %.1f s", seconds);
        if (tid < 0 && errno == EINTR)
            continue;
        if (tid < 0)
            return 0;
        struct cs_count_thread *t = cs_count_thread(c, tid);
        if (!WIFSTOPPED(status)) {
            if (tid == c->command)
                c->summary->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            if (t)
                cs_count_thread_remove(c, t);
            continue;
        }
        if (t && t->stopped)
            continue;
        if (!t) { /* the parent's event will come */
            t = cs_count_thread_add(c, tid);
            if (!t)
                return -ENOMEM;
            t->stopped = true;
            continue;
        }
        rc = on_stop(c, t, status);
    }
    if (!*c->err->text)
        cs_fail(c->err, -rc, "tracing failed: %s", strerror(-rc));
    return rc;
}

static _Noreturn void become(char **argv)
{
    if (personality(ADDR_NO_RANDOMIZE) >= 0 && ptrace(PTRACE_TRACEME, 0, 0, 0) == 0) {
        (void)raise(SIGSTOP);
        execvp(argv[0], argv);
    }
    _exit(127);
}

int cs_count_command(char **argv, double seconds, struct cs_store *store, struct cs_count_summary *summary,
                     struct cs_error *err)
{
    struct cs_counting c = {.images = cs_images_open("/proc"), .summary = summary, .err = err};
    const struct sigaction alarm_action = {.sa_handler = on_alarm};
    const struct itimerval limit = {
        .it_interval = {.tv_usec = 100000},
        .it_value = {.tv_sec = (time_t)seconds,
                     .tv_usec = (suseconds_t)(1e6 * (seconds - (double)(time_t)seconds))}};
    int status, rc = 0;
    *summary = (struct cs_count_summary){.exit_code = -1};
    *err = (struct cs_error){0};
    if (!c.images)
        return cs_fail(err, ENOMEM, "out of memory for images");
    cs_images_keep(c.images, 256);
    c.tally = (struct cs_count_tally){.images = c.images, .summary = summary};
    time_is_over = 0;
    (void)sigaction(SIGALRM, &alarm_action, NULL);
    (void)setitimer(ITIMER_REAL, &limit, NULL);
    c.command = fork();
    if (c.command == 0)
        become(argv);
    if (c.command < 0)
        rc = cs_fail(err, errno, "no process for the command: %s", strerror(errno));
    else if (waitpid(c.command, &status, 0) < 0 || !WIFSTOPPED(status) ||
             ptrace(PTRACE_SETOPTIONS, c.command, 0, OPTIONS) < 0)
        rc = cs_fail(err, EPERM, "the command can't be traced");
    else if (!cs_count_thread_add(&c, c.command))
        rc = -ENOMEM;
    else
        rc = cs_count_go_on(c.threads.at[0], 0);
    if (rc == 0)
        rc = watch(&c, seconds);
    if (rc < 0)
        kill_all(&c);
    (void)setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_sec = 0}}, NULL);
    if (rc == 0 && summary->processes == 0)
        rc = cs_fail(err, ENOENT, "%s can't be run", argv[0]);
    if (rc == 0)
        rc = cs_count_tally_keep(&c.tally, store, err);
    while (c.threads.n)
        cs_count_thread_remove(&c, c.threads.at[0]);
    cs_array_free(&c.threads);
    cs_count_tally_fini(&c.tally);
    cs_images_close(c.images);
    return rc;
}

#else
#include <errno.h>

int cs_count_command(char **argv, double seconds, struct cs_store *store, struct cs_count_summary *summary,
                     struct cs_error *err)
{
    (void)argv;
    (void)seconds;
    (void)store;
    *summary = (struct cs_count_summary){.exit_code = -1};
    return cs_fail(err, ENOTSUP, "instructions can be counted so on x86-64 only");
}
#endif
