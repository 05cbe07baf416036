/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process gets its runner when it has lived for a while: one that lives for milliseconds isn't worth it. */
#include "sampler/burst/followed.h"
#include "sampler/burst/burst_model.h"
#include "sampler/burst/rights.h"

#include <errno.h>
#include <time.h>

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void cs_burst_followed_deny(struct cs_burst_followed *followed, enum cs_burst_skip why)
{
    followed->denied_until_ns = now_ns() + CS_MODEL_DENIED_NS;
    followed->denied_why = why;
}

struct cs_burst_followed *cs_burst_follow(struct cs_burst_processes *processes, pid_t pid,
                                          enum cs_burst_skip *why, bool *started)
{
    uint64_t time = now_ns();
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
        cs_burst_runner_close(oldest->runner);
        *oldest = (struct cs_burst_followed){.pid = pid, .first_ns = time, .used_ns = time};
        return NULL;
    }
    mine->used_ns = time;
    if (mine->runner)
        return mine;
    if (time - mine->first_ns < CS_MODEL_NEW_PROCESS_NS)
        return NULL;
    if (time >= mine->denied_until_ns) {
        struct cs_error err;
        int rights = cs_burst_rights(pid, &err);
        *started = rights == 0 && cs_burst_runner_open(pid, &mine->runner, &err) == 0;
        if (*started)
            return mine;
        cs_burst_followed_deny(mine, err.code == ESRCH  ? CS_BURST_SKIP_GONE
                                     : rights == -EPERM ? CS_BURST_SKIP_RIGHTS
                                                        : CS_BURST_SKIP_DENIED);
    }
    *why = mine->denied_why;
    return NULL;
}

void cs_burst_unfollow(struct cs_burst_followed *followed)
{
    cs_burst_runner_close(followed->runner);
    followed->runner = NULL;
    followed->runner_cpu_us = 0;
}

double cs_burst_followed_cpu_us(struct cs_burst_followed *followed)
{
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(cs_burst_runner_pid(followed->runner), &clock) != 0)
        return 0;
    double us =
        clock_gettime(clock, &time) == 0 ? (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3 : 0;
    double spent = us > followed->runner_cpu_us ? us - followed->runner_cpu_us : 0;
    followed->runner_cpu_us = us;
    return spent;
}

void cs_burst_processes_close(struct cs_burst_processes *processes)
{
    for (int i = 0; i < CS_BURST_FOLLOWED_MAX; i++)
        cs_burst_unfollow(&processes->at[i]);
}
