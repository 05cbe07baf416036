/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/target/affinity.h"
#include "store/base/kernel_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct moved { /* a thread and where it was allowed to run */
    pid_t tid;
    uint64_t started; /* clock ticks since the machine's start */
    cpu_set_t before;
};

/* Shared with the guardian, which reads it when we are gone. */
struct list {
    uint64_t first_ticks; /* when we began */
    uint32_t n;           /* written after the entry */
    struct moved thread[CS_OBSERVE_AFFINITY_THREADS_MAX];
};

struct cs_observe_affinity {
    pid_t pid, guardian;
    int alive; /* its other end is the guardian's: closed when we end, however */
    cpu_set_t one;
    struct list *list;
};

/* 0 when the thread is gone. No stdio: the guardian of a process with threads calls it after fork. */
static uint64_t started_at(pid_t pid, pid_t tid)
{
    char text[1024];
    cs_kernel_text(text, sizeof text, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    const char *field = cs_stat_field(text, 22);
    return field ? strtoull(field, NULL, 10) : 0;
}

static const struct moved *find(const struct list *list, pid_t tid, uint64_t started)
{
    for (uint32_t i = 0; i < __atomic_load_n(&list->n, __ATOMIC_ACQUIRE); i++)
        if (list->thread[i].tid == tid && list->thread[i].started == started)
            return &list->thread[i];
    return NULL;
}

/* Calls `each` for the threads there are: the sum of what it returns, or the first negative. */
static int each_thread(pid_t pid, int (*each)(void *arg, pid_t tid), void *arg)
{
    pid_t *tids;
    const int threads = cs_tasks_of(pid, &tids);
    int n = threads < 0 ? threads : 0;
    for (int i = 0; n >= 0 && i < threads; i++) {
        const int more = each(arg, tids[i]);
        n = more < 0 ? more : n + more;
    }
    free(tids);
    return n;
}

static int move(void *arg, pid_t tid)
{
    struct cs_observe_affinity *a = arg;
    struct list *list = a->list;
    struct moved one = {.tid = tid, .started = started_at(a->pid, tid)};
    if (!one.started || find(list, tid, one.started))
        return 0;
    if (list->n == CS_OBSERVE_AFFINITY_THREADS_MAX)
        return 0;
    if (sched_getaffinity(tid, sizeof one.before, &one.before) < 0)
        return errno == ESRCH ? 0 : -errno; /* a thread that just ended is no failure */
    /* Born since: its one CPU is inherited from a thread that we moved. */
    if (list->n && one.started >= list->first_ticks && CPU_EQUAL(&one.before, &a->one))
        one.before = list->thread[0].before;
    list->thread[list->n] = one;
    __atomic_store_n(&list->n, list->n + 1, __ATOMIC_RELEASE); /* first known, then moved */
    if (sched_setaffinity(tid, sizeof a->one, &a->one) < 0)
        return errno == ESRCH ? 0 : -errno;
    return 1;
}

static int put_back(void *arg, pid_t tid)
{
    struct cs_observe_affinity *a = arg;
    const struct moved *moved = find(a->list, tid, started_at(a->pid, tid));
    cpu_set_t now;
    if (!moved && a->list->n && sched_getaffinity(tid, sizeof now, &now) == 0 && CPU_EQUAL(&now, &a->one))
        moved = &a->list->thread[0];
    return moved && sched_setaffinity(tid, sizeof moved->before, &moved->before) == 0;
}

/* Twice: a thread that was born by one not put back yet has the one CPU. */
static void restore(struct cs_observe_affinity *a)
{
    for (int pass = 0; pass < 2; pass++)
        each_thread(a->pid, put_back, a);
}

_Noreturn static void guard(struct cs_observe_affinity *a, int gone)
{
    sigset_t all;
    char byte;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid(); /* what ends our terminal's group is not to end the guardian */
    prctl(PR_SET_NAME, "cyclescope-aff");
    close_range(0, (unsigned)gone - 1, 0);
    close_range((unsigned)gone + 1, ~0U, 0);
    while (read(gone, &byte, 1) < 0 && errno == EINTR)
        ;
    restore(a);
    _exit(0);
}

static int start_guardian(struct cs_observe_affinity *a)
{
    int ends[2], gone;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    gone = fcntl(ends[0], F_DUPFD_CLOEXEC, 3);
    close(ends[0]);
    a->alive = ends[1];
    a->guardian = gone < 0 ? -1 : fork();
    if (a->guardian == 0)
        guard(a, gone);
    int code = a->guardian < 0 ? -errno : 0;
    if (gone >= 0)
        close(gone);
    return code;
}

/* Ticks of a thread's start time, now. */
static uint64_t ticks_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
    return (uint64_t)now.tv_sec * hz + (uint64_t)now.tv_nsec * hz / 1000000000;
}

int cs_observe_affinity_open(pid_t pid, unsigned cpu, struct cs_observe_affinity **out)
{
    assert(pid > 0);
    *out = NULL;
    struct cs_observe_affinity *a = calloc(1, sizeof *a);
    if (!a)
        return -ENOMEM;
    a->pid = pid;
    a->alive = -1;
    a->guardian = -1;
    CPU_ZERO(&a->one);
    CPU_SET(cpu, &a->one);
    a->list = mmap(NULL, sizeof *a->list, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    int rc = a->list == MAP_FAILED ? -ENOMEM : start_guardian(a), passes = 0;
    if (rc == 0) {
        a->list->first_ticks = ticks_now();
        while ((rc = cs_observe_affinity_move(a)) > 0 && passes++ < 20)
            ;
    }
    if (rc < 0)
        cs_observe_affinity_close(a);
    else
        *out = a;
    return rc < 0 ? rc : 0;
}

int cs_observe_affinity_move(struct cs_observe_affinity *a)
{
    return each_thread(a->pid, move, a);
}

unsigned cs_observe_affinity_moved(const struct cs_observe_affinity *a)
{
    return (unsigned)a->list->n;
}

void cs_observe_affinity_close(struct cs_observe_affinity *a)
{
    if (!a)
        return;
    int status = 0;
    if (a->alive >= 0)
        close(a->alive); /* the guardian puts all back */
    if (a->guardian > 0)
        while (waitpid(a->guardian, &status, 0) < 0 && errno == EINTR)
            ;
    if (a->list != MAP_FAILED && (a->guardian < 0 || status != 0)) /* it was killed before us */
        restore(a);
    if (a->list != MAP_FAILED)
        munmap(a->list, sizeof *a->list);
    free(a);
}
