/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/target/target.h"
#include "observer/target/affinity.h"
#include "observer/target/placement.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct cs_observe_target {
    pid_t pid;
    int pidfd;
    bool started, reaped;
    int status;
    struct rusage usage;
    char program[512];
    struct cs_observe_affinity *affinity; /* of a process that was attached to */
};

/* In the child: never returns. The error goes through the pipe, which a successful exec closes. */
static void run_child(char *const argv[], int cpu, int report)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu != CS_ANY_CPU)
        CPU_SET((unsigned)cpu, &set);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (cpu == CS_ANY_CPU || sched_setaffinity(0, sizeof set, &set) == 0)
        execvp(argv[0], argv);
    int code = errno;
    if (write(report, &code, sizeof code) < 0)
        _exit(126);
    _exit(127);
}

static void note_program(struct cs_observe_target *t, const char *otherwise)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)t->pid);
    ssize_t n = readlink(link, t->program, sizeof t->program - 1);
    if (n > 0)
        t->program[n] = '\0';
    else
        snprintf(t->program, sizeof t->program, "%s", otherwise);
}

int cs_observe_target_start(char *const argv[], int cpu, struct cs_observe_target **out, struct cs_error *err)
{
    assert(argv && argv[0]);
    int report[2] = {-1, -1}, code = 0;
    struct cs_observe_target *t = calloc(1, sizeof *t);
    if (!t || pipe2(report, O_CLOEXEC) < 0) {
        free(t);
        return cs_fail(err, ENOMEM, "cannot start %s: no memory or file descriptors", argv[0]);
    }
    t->pidfd = -1;
    t->started = true;
    t->pid = fork();
    if (t->pid == 0)
        run_child(argv, cpu, report[1]);
    close(report[1]);
    if (t->pid < 0) {
        code = errno;
    } else {
        ssize_t n;
        while ((n = read(report[0], &code, sizeof code)) < 0 && errno == EINTR)
            ;
        if (n == (ssize_t)sizeof code)
            waitpid(t->pid, &t->status, 0);
        else
            code = 0;
    }
    close(report[0]);
    if (code) {
        free(t);
        return cs_fail(err, code, "cannot start %s: %s", argv[0], strerror(code));
    }
    t->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
    note_program(t, argv[0]);
    *out = t;
    return 0;
}

int cs_observe_target_attach(pid_t pid, int cpu, struct cs_observe_target **out, struct cs_error *err)
{
    if (pid == getpid())
        return cs_fail(err, EINVAL, "cannot observe myself (process %d)", (int)pid);
    struct cs_observe_target *t = calloc(1, sizeof *t);
    if (!t)
        return cs_fail(err, ENOMEM, "no memory to attach to process %d", (int)pid);
    t->pid = pid;
    t->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int rc = t->pidfd < 0        ? -errno
             : cpu == CS_ANY_CPU ? 0
                                 : cs_observe_affinity_open(pid, (unsigned)cpu, &t->affinity);
    if (rc < 0) {
        cs_observe_target_close(t);
        if (rc == -ESRCH || rc == -ENOENT)
            return cs_fail(err, ESRCH, "there is no process %d", (int)pid);
        if (rc == -EINVAL && cpu != CS_ANY_CPU)
            return cs_fail(err, EINVAL,
                           "process %d cannot be moved to CPU %d (a kernel thread, or a thread id?)",
                           (int)pid, cpu);
        if (cpu == CS_ANY_CPU)
            return cs_fail(err, -rc,
                           "process %d can't be observed (%s): it belongs to another user, or is a thread?",
                           (int)pid, strerror(-rc));
        return cs_fail(err, -rc, "may not move process %d to CPU %d: %s; it belongs to another user?",
                       (int)pid, cpu, strerror(-rc));
    }
    note_program(t, "?");
    *out = t;
    return 0;
}

unsigned cs_observe_target_moved(const struct cs_observe_target *t)
{
    return t->affinity ? cs_observe_affinity_moved(t->affinity) : 0;
}

void cs_observe_target_repin(struct cs_observe_target *t)
{
    if (t->affinity)
        cs_observe_affinity_move(t->affinity);
}

void cs_observe_target_release(struct cs_observe_target *t)
{
    cs_observe_affinity_close(t->affinity);
    t->affinity = NULL;
}

void cs_observe_target_close(struct cs_observe_target *t)
{
    if (!t)
        return;
    cs_observe_target_release(t);
    if (t->pidfd >= 0)
        close(t->pidfd);
    free(t);
}

pid_t cs_observe_target_pid(const struct cs_observe_target *t)
{
    return t->pid;
}

const char *cs_observe_target_program(const struct cs_observe_target *t)
{
    return t->program;
}

bool cs_observe_target_started(const struct cs_observe_target *t)
{
    return t->started;
}

int cs_observe_target_pidfd(const struct cs_observe_target *t)
{
    return t->pidfd;
}

bool cs_observe_target_ended(struct cs_observe_target *t)
{
    if (t->reaped)
        return true;
    struct pollfd p = {.fd = t->pidfd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

double cs_observe_target_cpu_seconds(const struct cs_observe_target *t)
{
    const struct timeval *user = &t->usage.ru_utime, *system = &t->usage.ru_stime;
    return t->reaped
               ? (double)(user->tv_sec + system->tv_sec) + 1e-6 * (double)(user->tv_usec + system->tv_usec)
               : 0;
}

int cs_observe_target_wait(struct cs_observe_target *t)
{
    if (t->started && !t->reaped) {
        while (wait4(t->pid, &t->status, 0, &t->usage) < 0 && errno == EINTR)
            ;
        t->reaped = true;
    }
    return WIFEXITED(t->status) ? WEXITSTATUS(t->status) : 128 + WTERMSIG(t->status);
}
