/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/target/target.h"

#include <dirent.h>
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

struct moved { /* a thread and where it was allowed to run */
    pid_t tid;
    cpu_set_t before;
};

struct cs_target {
    pid_t pid;
    int pidfd;
    bool started, reaped;
    int status;
    struct rusage usage;
    unsigned cpu;
    char program[512];
    struct moved *moved;
    size_t n_moved;
};

static void single(unsigned cpu, cpu_set_t *set)
{
    CPU_ZERO(set);
    CPU_SET(cpu, set);
}

/* In the child: never returns. The error goes through the pipe, which a successful exec closes. */
static void run_child(char *const argv[], unsigned cpu, int report)
{
    cpu_set_t set;
    single(cpu, &set);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (sched_setaffinity(0, sizeof set, &set) == 0)
        execvp(argv[0], argv);
    int code = errno;
    if (write(report, &code, sizeof code) < 0)
        _exit(126);
    _exit(127);
}

static void note_program(struct cs_target *t, const char *otherwise)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)t->pid);
    ssize_t n = readlink(link, t->program, sizeof t->program - 1);
    if (n > 0)
        t->program[n] = '\0';
    else
        snprintf(t->program, sizeof t->program, "%s", otherwise);
}

int cs_target_start(char *const argv[], unsigned cpu, struct cs_target **out, struct cs_error *err)
{
    int report[2] = {-1, -1}, code = 0;
    struct cs_target *t = calloc(1, sizeof *t);
    if (!t || pipe2(report, O_CLOEXEC) < 0) {
        free(t);
        return cs_fail(err, ENOMEM, "cannot start %s: no memory or file descriptors", argv[0]);
    }
    t->pidfd = -1;
    t->cpu = cpu;
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

static bool is_moved(const struct cs_target *t, pid_t tid)
{
    for (size_t i = 0; i < t->n_moved; i++)
        if (t->moved[i].tid == tid)
            return true;
    return false;
}

/* Moves threads not yet moved; returns how many, or <0 errno. */
static int move_threads(struct cs_target *t)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)t->pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return -errno;
    int n = 0;
    cpu_set_t to;
    single(t->cpu, &to);
    struct dirent *entry;
    while (n >= 0 && (entry = readdir(tasks))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        struct moved one = {.tid = tid};
        if (tid <= 0 || is_moved(t, tid))
            continue;
        struct moved *more = realloc(t->moved, (t->n_moved + 1) * sizeof *more);
        if (!more) {
            n = -ENOMEM;
            break;
        }
        t->moved = more;
        if (sched_getaffinity(tid, sizeof one.before, &one.before) < 0 ||
            sched_setaffinity(tid, sizeof to, &to) < 0) {
            if (errno != ESRCH) /* a thread that just ended is no failure */
                n = -errno;
            continue;
        }
        t->moved[t->n_moved++] = one;
        n++;
    }
    closedir(tasks);
    return n;
}

int cs_target_attach(pid_t pid, unsigned cpu, struct cs_target **out, struct cs_error *err)
{
    if (pid == getpid())
        return cs_fail(err, EINVAL, "cannot observe myself (process %d)", (int)pid);
    struct cs_target *t = calloc(1, sizeof *t);
    if (!t)
        return cs_fail(err, ENOMEM, "no memory to attach to process %d", (int)pid);
    t->pid = pid;
    t->cpu = cpu;
    t->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int rc = t->pidfd < 0 ? -errno : 0, pass = 0;
    while (rc == 0 && pass++ < 20 && (rc = move_threads(t)) > 0)
        rc = 0;
    if (rc < 0) {
        cs_target_close(t);
        if (rc == -ESRCH || rc == -ENOENT)
            return cs_fail(err, ESRCH, "there is no process %d", (int)pid);
        if (rc == -EINVAL)
            return cs_fail(err, EINVAL,
                           "process %d cannot be moved to CPU %u (a kernel thread, or a thread id?)",
                           (int)pid, cpu);
        return cs_fail(err, -rc, "may not move process %d to CPU %u: %s; it belongs to another user?",
                       (int)pid, cpu, strerror(-rc));
    }
    note_program(t, "?");
    *out = t;
    return 0;
}

void cs_target_repin(struct cs_target *t)
{
    if (!t->started)
        move_threads(t);
}

void cs_target_close(struct cs_target *t)
{
    if (!t)
        return;
    /* Threads born meanwhile inherited the one CPU: give them what the first thread had. */
    if (!t->started && t->n_moved) {
        cpu_set_t first = t->moved[0].before;
        move_threads(t);
        for (size_t i = 0; i < t->n_moved; i++) {
            cpu_set_t *before = &t->moved[i].before;
            sched_setaffinity(t->moved[i].tid, sizeof *before, CPU_COUNT(before) > 1 ? before : &first);
        }
    }
    free(t->moved);
    if (t->pidfd >= 0)
        close(t->pidfd);
    free(t);
}

pid_t cs_target_pid(const struct cs_target *t)
{
    return t->pid;
}

const char *cs_target_program(const struct cs_target *t)
{
    return t->program;
}

bool cs_target_started(const struct cs_target *t)
{
    return t->started;
}

int cs_target_pidfd(const struct cs_target *t)
{
    return t->pidfd;
}

bool cs_target_ended(struct cs_target *t)
{
    if (t->reaped)
        return true;
    struct pollfd p = {.fd = t->pidfd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

double cs_target_cpu_seconds(const struct cs_target *t)
{
    const struct timeval *user = &t->usage.ru_utime, *system = &t->usage.ru_stime;
    return t->reaped
               ? (double)(user->tv_sec + system->tv_sec) + 1e-6 * (double)(user->tv_usec + system->tv_usec)
               : 0;
}

int cs_target_wait(struct cs_target *t)
{
    if (t->started && !t->reaped) {
        while (wait4(t->pid, &t->status, 0, &t->usage) < 0 && errno == EINTR)
            ;
        t->reaped = true;
    }
    return WIFEXITED(t->status) ? WEXITSTATUS(t->status) : 128 + WTERMSIG(t->status);
}
