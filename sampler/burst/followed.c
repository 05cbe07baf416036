/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process gets its runner when it has lived for a while: one that lives for milliseconds isn't worth it.
 * Invariant: at most CS_MODEL_RUNNERS_MAX have one; who has no runner has no ended_fd. */
#include "sampler/burst/followed.h"
#include "sampler/burst/burst_model.h"
#include "store/base/clock.h"
#include "store/base/kernel_files.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

void cs_burst_followed_deny(struct cs_burst_followed *followed, enum cs_burst_skip why)
{
    followed->denied_until_ns = cs_monotonic_ns() + CS_MODEL_DENIED_NS;
    followed->denied_why = why;
}

void cs_burst_followed_failed(struct cs_burst_followed *followed, enum cs_burst_skip why)
{
    uint64_t ns = CS_MODEL_FAILED_NS << (followed->failures < 10 ? followed->failures : 10);
    followed->failures++;
    cs_burst_followed_deny(followed, why);
    if (ns < CS_MODEL_DENIED_NS)
        followed->denied_until_ns += ns - CS_MODEL_DENIED_NS;
}

struct memory {
    uint64_t own, shared; /* kB, without files */
};

static uint64_t kilobytes(pid_t pid, const char *field)
{
    char text[32];
    (void)cs_kernel_line(text, sizeof text, field, "/proc/%d/status", (int)pid);
    return strtoull(text, NULL, 10);
}

static struct memory memory_of(pid_t pid)
{
    return (struct memory){kilobytes(pid, "RssAnon:"), kilobytes(pid, "RssShmem:")};
}

/* What a runner's two processes have in memory. They share what they talk by; the second has its code mapped
 * twice, which the kernel counts twice. */
static uint64_t runner_bytes(const struct cs_burst_runner *runner)
{
    struct memory holder = memory_of(cs_burst_runner_pid(runner)),
                  replayer = memory_of(cs_burst_runner_replayer(runner));
    uint64_t code = replayer.shared > holder.shared ? (replayer.shared - holder.shared) / 2 : 0;
    return (holder.own + replayer.own + holder.shared + code) * 1024;
}

static unsigned runners(const struct cs_burst_processes *processes)
{
    unsigned n = 0;
    for (int i = 0; i < CS_BURST_FOLLOWED_MAX; i++)
        n += processes->at[i].runner != NULL;
    return n;
}

/* Of those that have a runner, whose was used longest ago. */
static struct cs_burst_followed *idlest(struct cs_burst_processes *processes)
{
    struct cs_burst_followed *found = NULL;
    for (int i = 0; i < CS_BURST_FOLLOWED_MAX; i++) {
        struct cs_burst_followed *f = &processes->at[i];
        if (f->runner && (!found || f->used_ns < found->used_ns))
            found = f;
    }
    return found;
}

/* A place for one runner more; false while all are in use. */
static bool make_place(struct cs_burst_processes *processes, uint64_t time)
{
    if (runners(processes) < CS_MODEL_RUNNERS_MAX)
        return true;
    struct cs_burst_followed *f = idlest(processes);
    if (time - f->used_ns < CS_MODEL_RUNNER_IDLE_NS)
        return false;
    cs_burst_unfollow(processes, f);
    return true;
}

/* Before its runner: a process that ends in between is seen to have ended. */
static void watch(struct cs_burst_processes *processes, struct cs_burst_followed *f)
{
    struct epoll_event event = {.events = EPOLLIN};
    f->ended_fd = (int)syscall(SYS_pidfd_open, f->pid, 0);
    if (f->ended_fd >= 0)
        epoll_ctl(processes->watch_fd, EPOLL_CTL_ADD, f->ended_fd, &event);
}

int cs_burst_processes_open(struct cs_burst_processes *processes, int wake_fd, uint64_t bytes_max)
{
    struct epoll_event event = {.events = EPOLLIN};
    *processes = (struct cs_burst_processes){.bytes_max = bytes_max};
    for (int i = 0; i < CS_BURST_FOLLOWED_MAX; i++)
        processes->at[i].ended_fd = -1;
    processes->watch_fd = epoll_create1(EPOLL_CLOEXEC);
    if (processes->watch_fd < 0 || epoll_ctl(processes->watch_fd, EPOLL_CTL_ADD, wake_fd, &event) < 0)
        return -errno;
    return 0;
}

static bool has_ended(const struct cs_burst_followed *f)
{
    struct pollfd fd = {.fd = f->ended_fd, .events = POLLIN};
    return poll(&fd, 1, 0) > 0;
}

void cs_burst_processes_tidy(struct cs_burst_processes *processes)
{
    for (int i = 0; i < CS_BURST_FOLLOWED_MAX; i++)
        if (processes->at[i].ended_fd >= 0 && has_ended(&processes->at[i])) {
            cs_burst_unfollow(processes, &processes->at[i]);
            processes->at[i] = (struct cs_burst_followed){.ended_fd = -1};
        }
    processes->runners = runners(processes);
    uint64_t time = cs_monotonic_ns();
    if (processes->runners && time - processes->counted_ns < CS_MODEL_RUNNERS_COUNTED_NS)
        return;
    processes->counted_ns = time;
    for (;;) {
        processes->bytes = 0;
        for (int i = 0; i < CS_BURST_FOLLOWED_MAX; i++)
            if (processes->at[i].runner)
                processes->bytes += runner_bytes(processes->at[i].runner);
        if (processes->bytes <= processes->bytes_max || !processes->runners)
            return;
        struct cs_burst_followed *f = idlest(processes);
        cs_burst_unfollow(processes, f);
        if (!--processes->runners) /* more than it ever needs: what it follows has taken it over */
            cs_burst_followed_deny(f, CS_BURST_SKIP_MEMORY);
    }
}

struct cs_burst_followed *cs_burst_follow(struct cs_burst_processes *processes, pid_t pid, bool may_start,
                                          enum cs_burst_skip *why, bool *started)
{
    uint64_t time = cs_monotonic_ns();
    struct cs_burst_followed *oldest = &processes->at[0], *mine = NULL;
    *why = CS_BURST_SKIP_NONE;
    *started = false;
    for (int i = 0; i < CS_BURST_FOLLOWED_MAX && !mine; i++) {
        struct cs_burst_followed *f = &processes->at[i];
        if (f->pid == pid)
            mine = f;
        else if (f->used_ns < oldest->used_ns)
            oldest = f;
    }
    if (!mine) {
        cs_burst_unfollow(processes, oldest);
        *oldest = (struct cs_burst_followed){.pid = pid, .ended_fd = -1, .first_ns = time};
        mine = oldest;
    }
    const bool met = mine->used_ns;
    mine->used_ns = time;
    if (mine->runner)
        return mine;
    if (!processes->at_once && (!met || time - mine->first_ns < CS_MODEL_NEW_PROCESS_NS)) {
        *why = CS_BURST_SKIP_NEW;
        return NULL;
    }
    if (time >= mine->denied_until_ns) {
        if (!may_start) {
            *why = CS_BURST_SKIP_BUDGET;
            return NULL;
        }
        struct cs_error err;
        if (!make_place(processes, time)) {
            *why = CS_BURST_SKIP_CROWDED;
            return NULL;
        }
        watch(processes, mine);
        double failed_us;
        *started = cs_burst_runner_open(pid, &mine->runner, &failed_us, &err) == 0;
        processes->ended_cpu_us += failed_us;
        if (*started)
            return mine;
        cs_burst_unfollow(processes, mine);
        if (err.code == ESRCH) { /* perhaps by an exec: then there is another program */
            cs_burst_followed_begin(mine);
            *why = CS_BURST_SKIP_GONE;
            return NULL;
        }
        cs_burst_followed_deny(mine, err.code == EPERM       ? CS_BURST_SKIP_OTHERS
                                     : err.code == ETIMEDOUT ? CS_BURST_SKIP_LATE
                                     : err.code == EIO       ? CS_BURST_SKIP_BROKEN
                                                             : CS_BURST_SKIP_DENIED);
    }
    *why = mine->denied_why;
    return NULL;
}

void cs_burst_followed_begin(struct cs_burst_followed *followed)
{
    followed->first_ns = cs_monotonic_ns();
}

/* Since the last time. */
static double spent_us(struct cs_burst_followed *followed)
{
    if (!followed->runner)
        return 0;
    double us = cs_burst_runner_cpu_us(followed->runner), spent = us - followed->runner_cpu_us;
    followed->runner_cpu_us = us;
    return spent;
}

double cs_burst_processes_cpu_us(struct cs_burst_processes *processes)
{
    double us = processes->ended_cpu_us;
    processes->ended_cpu_us = 0;
    for (int i = 0; i < CS_BURST_FOLLOWED_MAX; i++)
        us += spent_us(&processes->at[i]);
    return us;
}

void cs_burst_unfollow(struct cs_burst_processes *processes, struct cs_burst_followed *followed)
{
    assert(followed >= processes->at && followed < processes->at + CS_BURST_FOLLOWED_MAX);
    if (followed->runner)
        processes->ended_cpu_us += cs_burst_runner_close(followed->runner) - followed->runner_cpu_us;
    followed->runner = NULL;
    if (followed->ended_fd >= 0)
        close(followed->ended_fd);
    followed->ended_fd = -1;
    followed->runner_cpu_us = 0;
}

void cs_burst_processes_close(struct cs_burst_processes *processes)
{
    for (int i = 0; i < CS_BURST_FOLLOWED_MAX; i++)
        cs_burst_unfollow(processes, &processes->at[i]);
    if (processes->watch_fd >= 0)
        close(processes->watch_fd);
    processes->watch_fd = -1;
}
