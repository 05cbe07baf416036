/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/turns/timed.h"

#include "cli/command/interrupt.h"
#include "store/base/array.h"
#include "store/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SUFFIX ".times"
#define RUNS_MAX 100000 /* of a file */
#define PAIRS_MAX 2

/* In the child. */
static _Noreturn void become(char **command, int turn)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    cpu_set_t may, one;
    for (int fd = 0; nothing >= 0 && fd < 3; fd++)
        (void)dup2(nothing, fd);
    if (turn >= 0 && sched_getaffinity(0, sizeof may, &may) == 0) {
        size_t cpu = 0;
        for (int skip = turn % CPU_COUNT(&may); !CPU_ISSET(cpu, &may) || skip-- > 0;)
            cpu++;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)sched_setaffinity(0, sizeof one, &one);
    }
    execvp(command[0], command);
    _exit(127);
}

struct timing {
    pid_t pid;
    uint64_t began_ms, ns;
    bool ended_well;
};

static int begin(struct timing *run, char **command, int turn, struct cs_error *err)
{
    run->began_ms = cs_clock_ns(CLOCK_REALTIME) / 1000000;
    run->pid = fork();
    if (run->pid == 0)
        become(command, turn);
    return run->pid < 0 ? cs_fail(err, errno, "no process for a run: %s", strerror(errno)) : 0;
}

static void end(struct timing *run)
{
    struct rusage used;
    int status;
    while (wait4(run->pid, &status, 0, &used) < 0)
        assert(errno == EINTR);
    const struct timeval *u = &used.ru_utime, *s = &used.ru_stime;
    run->ns = 1000 * ((uint64_t)(u->tv_sec + s->tv_sec) * 1000000 + (uint64_t)(u->tv_usec + s->tv_usec));
    run->ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int keep(const struct timing *run, const char *store, struct cs_error *err)
{
    char path[PATH_MAX];
    gate_beside(store, SUFFIX, path);
    FILE *f = fopen(path, "ae");
    bool bad = !f || fprintf(f, "%" PRIu64 " %" PRIu64 "\n", run->began_ms, run->ns) < 0;
    bad |= f && fclose(f) != 0;
    return bad ? cs_fail(err, EIO, "%s: a run's time can't be written", path) : 0;
}

/* Two where there are two CPUs: a busy machine has more time for more processes. */
static unsigned pairs_at_once(const struct gate_timing *how)
{
    cpu_set_t may;
    return how->together && sched_getaffinity(0, sizeof may, &may) == 0 && CPU_COUNT(&may) >= PAIRS_MAX
               ? PAIRS_MAX
               : 1;
}

/* Begins a pair, and ends the first of it before the second if it has to. */
static int begin_pair(const struct gate_turns *t, struct gate_timing *how, struct timing run[2],
                      struct cs_error *err)
{
    char **const command[2] = {t->base, t->head};
    const unsigned first = how->pairs % 2, order[2] = {first, !first};
    const int turn = how->one_cpu ? (int)(how->pairs / (how->together ? 1 : 2) % INT_MAX) : -1;
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < 2; i++) {
        struct timing *r = &run[order[i]];
        rc = begin(r, command[order[i]], turn, err);
        /* A pair's neighbours in time are each other: two pairs never began in one millisecond, and a pair at the same time did. */
        if (r->began_ms <= how->last_ms)
            r->began_ms = how->last_ms + 1;
        if (i && how->together)
            r->began_ms = run[order[0]].began_ms;
        else
            how->last_ms = r->began_ms;
        if (rc == 0 && !how->together)
            end(r);
    }
    how->pairs++;
    return rc;
}

int gate_time_pairs(const struct gate_turns *t, struct gate_timing *how, struct cs_error *err)
{
    struct timing run[PAIRS_MAX][2] = {{{0}}};
    const unsigned n = pairs_at_once(how);
    const struct timing *bad = NULL;
    int rc = 0;
    for (unsigned k = 0; rc == 0 && k < n; k++)
        rc = begin_pair(t, how, run[k], err);
    for (unsigned i = 0; i < 2 * n; i++) {
        struct timing *r = &run[i / 2][i % 2];
        if (how->together && r->pid > 0)
            end(r);
        bad = bad || r->ended_well ? bad : r;
    }
    if (rc < 0)
        return rc;
    if (interrupt_number())
        return cs_fail(err, EINTR, "interrupted by signal %d; there is no verdict", interrupt_number());
    if (bad && how->together) { /* they may be in each other's way */
        how->together = false;
        return 0;
    }
    if (bad)
        return cs_fail(err, ECANCELED, "%s failed in a run that was timed: a run that fails measures nothing",
                       bad == &run[0][0] ? t->base[0] : t->head[0]);
    for (unsigned i = 0; rc == 0 && i < 2 * n; i++)
        rc = keep(&run[i / 2][i % 2], t->store[i % 2], err);
    return rc;
}

/* A file that isn't there has no runs. */
static int read_side(const char *store, unsigned side, struct gate_run **run, size_t *n, struct cs_error *err)
{
    char path[PATH_MAX];
    struct gate_run one = {.side = side, .machine = (double)NAN};
    uint64_t ns;
    gate_beside(store, SUFFIX, path);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    int rc = 0;
    const size_t most = *n + RUNS_MAX;
    while (rc == 0 && *n < most && fscanf(f, "%" SCNu64 " %" SCNu64, &one.began_ms, &ns) == 2) {
        one.value = (double)ns;
        if (cs_array_resize(*run, *n + 1) < 0)
            rc = cs_fail(err, ENOMEM, "out of memory for the runs of %s", path);
        else
            (*run)[(*n)++] = one;
    }
    if (rc == 0 && !feof(f))
        rc = cs_fail(err, EINVAL, "%s: no list of times", path);
    fclose(f);
    return rc;
}

int gate_timed_read(const char *const store[2], struct gate_run **run, size_t *n, size_t few[2],
                    struct cs_error *err)
{
    size_t base;
    *run = NULL;
    *n = 0;
    int rc = read_side(store[0], 0, run, n, err);
    base = *n;
    rc = rc < 0 ? rc : read_side(store[1], 1, run, n, err);
    if (rc == 0 && base >= GATE_TIMED_MIN && *n - base >= GATE_TIMED_MIN)
        return 0;
    few[0] = base;
    few[1] = *n - base;
    free(*run);
    *run = NULL;
    *n = 0;
    return rc;
}
