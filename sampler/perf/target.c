/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command to be sampled is forked at once but execs only when the events are open on it. */
#include "sampler/perf/target.h"
#include "store/base/array.h"
#include "store/base/kernel_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH_MAX 32 /* of processes that start processes */

int cs_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static _Noreturn void child(int go, int failed, char *const *argv, char *const *environment)
{
    char word;
    ssize_t got;
    do
        got = read(go, &word, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(127); /* the profiler gave up */
    for (; environment && *environment; environment++)
        (void)putenv(*environment);
    execvp(argv[0], argv);
    int code = errno;
    (void)!write(failed, &code, sizeof code);
    _exit(127);
}

int cs_waiting_command_open(struct cs_waiting_command *c, char *const *argv, char *const *environment,
                            struct cs_error *err)
{
    assert(argv[0]);
    int go[2], failed[2];
    *c = (struct cs_waiting_command){.pid = -1, .go = -1, .failed = -1, .pidfd = -1, .status = -1};
    if (pipe2(go, O_CLOEXEC) != 0)
        return cs_fail(err, errno, "no pipe for the command: %s", strerror(errno));
    if (pipe2(failed, O_CLOEXEC) != 0) {
        close(go[0]);
        close(go[1]);
        return cs_fail(err, errno, "no pipe for the command: %s", strerror(errno));
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(go[1]);
        child(go[0], failed[1], argv, environment);
    }
    int code = errno;
    close(go[0]);
    close(failed[1]);
    c->go = go[1];
    c->failed = failed[0];
    if (pid < 0) {
        cs_waiting_command_close(c);
        return cs_fail(err, code, "the command can't be started: %s", strerror(code));
    }
    c->pid = pid;
    c->pidfd = cs_pidfd(pid);
    return 0;
}

int cs_waiting_command_go(struct cs_waiting_command *c, const char *name, struct cs_error *err)
{
    int code = 0;
    ssize_t got;
    (void)!write(c->go, "g", 1);
    do
        got = read(c->failed, &code, sizeof code);
    while (got < 0 && errno == EINTR);
    if (got == (ssize_t)sizeof code)
        return cs_fail(err, code, "%s can't be run: %s", name, strerror(code));
    return 0;
}

bool cs_waiting_command_ended(struct cs_waiting_command *c)
{
    int status;
    struct rusage used;
    if (c->status != -1 || c->pid <= 0)
        return true;
    if (wait4(c->pid, &status, WNOHANG, &used) != c->pid)
        return false;
    c->status = status;
    c->cpu_seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                     (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    return true;
}

void cs_waiting_command_close(struct cs_waiting_command *c)
{
    if (c->go >= 0)
        close(c->go);
    if (c->failed >= 0)
        close(c->failed);
    if (c->pidfd >= 0)
        close(c->pidfd);
    c->go = c->failed = c->pidfd = -1;
}

int cs_threads_of(pid_t pid, pid_t **threads, struct cs_error *err)
{
    const int n = cs_tasks_of(pid, threads);
    if (n == -ENOMEM)
        return cs_fail(err, ENOMEM, "out of memory for the threads of process %d", (int)pid);
    if (n < 0)
        return cs_fail(err, ESRCH, "there is no process %d", (int)pid);
    return n > 0 ? n : cs_fail(err, ESRCH, "process %d has ended", (int)pid);
}

/* Grows *list, by all threads of each process or by its PID alone; returns how many there are now. */
static int gather(pid_t pid, bool each_thread, pid_t **list, int n, int depth)
{
    struct cs_error ignored;
    pid_t *more = NULL;
    int found = cs_threads_of(pid, &more, &ignored), kept = each_thread ? found : 1;
    if (found <= 0 || cs_array_resize(*list, (size_t)(n + kept)) < 0) {
        free(more);
        return n;
    }
    memcpy(*list + n, each_thread ? more : &pid, (size_t)kept * sizeof **list);
    n += kept;
    for (int i = 0; i < found && depth < DEPTH_MAX; i++) {
        char path[64];
        int child;
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)more[i]);
        FILE *children = fopen(path, "re");
        while (children && fscanf(children, "%d", &child) == 1)
            n = gather(child, each_thread, list, n, depth + 1);
        if (children)
            fclose(children);
    }
    free(more);
    return n;
}

int cs_threads_below(pid_t pid, pid_t **threads, int n)
{
    return gather(pid, true, threads, n, 0);
}

int cs_processes_below(pid_t pid, pid_t **processes)
{
    *processes = NULL;
    return gather(pid, false, processes, 0, 0);
}
