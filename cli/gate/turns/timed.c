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
    uint64_t began_ms, began_ns, cpu_ns;
    struct gate_time_of_run time;
    double load_ns; /* of the machine, when it began */
    bool ended, ended_well;
};

/* Time since the machine began in which something waited for a CPU, at most (some on each), or others of the host had one. NAN:
 * the kernel doesn't say. */
static double load_of_machine(void)
{
    static const char some[] = "some ", total[] = "total=";
    char line[256];
    double ns = (double)NAN, steal;
    FILE *f = fopen("/proc/pressure/cpu", "re");
    if (f && fgets(line, sizeof line, f) && strncmp(line, some, sizeof some - 1) == 0 && strstr(line, total))
        ns = 1e3 * strtod(strstr(line, total) + sizeof total - 1, NULL) *
             (double)sysconf(_SC_NPROCESSORS_ONLN);
    if (f)
        fclose(f);
    f = fopen("/proc/stat", "re");
    if (f && fscanf(f, "cpu %*u %*u %*u %*u %*u %*u %*u %lf", &steal) == 1)
        ns += 1e9 * steal / (double)sysconf(_SC_CLK_TCK);
    if (f)
        fclose(f);
    return ns;
}

/* Of a process that has ended and is still there. Its CPU time is rusage's. NAN: the kernel doesn't say. */
static double queued_of_thread(pid_t pid)
{
    char path[64];
    double ns = (double)NAN;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%*u %lf", &ns) != 1)
        ns = (double)NAN;
    if (f)
        fclose(f);
    return ns;
}

static int begin(struct timing *run, char **command, int turn, struct cs_error *err)
{
    *run = (struct timing){.began_ms = cs_clock_ns(CLOCK_REALTIME) / 1000000,
                           .load_ns = turn < 0 ? load_of_machine() : 0,
                           .time.exact = turn >= 0};
    run->began_ns = cs_clock_ns(CLOCK_MONOTONIC);
    run->pid = fork();
    if (run->pid == 0)
        become(command, turn);
    return run->pid < 0 ? cs_fail(err, errno, "no process for a run: %s", strerror(errno)) : 0;
}

static uint64_t ns_of(const struct timeval *t)
{
    return 1000 * ((uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec);
}

/* Takes its times, which end now. */
static void end(struct timing *run)
{
    struct rusage used;
    int status;
    run->time.elapsed = (double)(cs_clock_ns(CLOCK_MONOTONIC) - run->began_ns);
    run->time.queued = run->time.exact ? queued_of_thread(run->pid) : load_of_machine() - run->load_ns;
    while (wait4(run->pid, &status, 0, &used) < 0)
        assert(errno == EINTR);
    run->time.in_kernel = (double)ns_of(&used.ru_stime);
    run->cpu_ns = ns_of(&used.ru_utime) + ns_of(&used.ru_stime);
    run->ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    run->ended = true;
}

/* Each when it ends, whatever their order. */
static void end_all(struct timing *run, size_t n)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        left += run[i].pid > 0 && !run[i].ended;
    while (left) {
        siginfo_t who = {.si_pid = 0};
        struct timing *ended = NULL;
        if (waitid(P_ALL, 0, &who, WEXITED | WNOWAIT) < 0) {
            assert(errno == EINTR);
            continue;
        }
        for (size_t i = 0; i < n; i++)
            ended = run[i].pid == who.si_pid && !run[i].ended ? &run[i] : ended;
        if (ended) {
            end(ended);
            left--;
        } else { /* of somebody else, as of the program that became us */
            (void)waitid(P_PID, (id_t)who.si_pid, &who, WEXITED);
        }
    }
}

static int keep(const struct timing *run, const char *store, struct cs_error *err)
{
    const struct gate_time_of_run *t = &run->time;
    char path[PATH_MAX];
    gate_beside(store, SUFFIX, path);
    FILE *f = fopen(path, "ae");
    bool bad = !f || fprintf(f, "%" PRIu64 " %" PRIu64 " %.0f %.0f", run->began_ms, run->cpu_ns, t->elapsed,
                             t->in_kernel) < 0;
    bad |= f && !isnan(t->queued) && fprintf(f, " %s %.0f", t->exact ? "thread" : "machine", t->queued) < 0;
    bad |= f && fputc('\n', f) == EOF;
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
            end_all(r, 1);
    }
    how->pairs++;
    return rc;
}

int gate_time_pairs(const struct gate_turns *t, struct gate_timing *how, struct cs_error *err)
{
    struct timing run[PAIRS_MAX][2] = {{{.pid = 0}}};
    const unsigned n = pairs_at_once(how);
    const struct timing *bad = NULL;
    int rc = 0;
    for (unsigned k = 0; rc == 0 && k < n; k++)
        rc = begin_pair(t, how, run[k], err);
    end_all(run[0], 2 * (size_t)n);
    for (unsigned i = 0; i < 2 * n; i++)
        bad = bad || run[i / 2][i % 2].ended_well ? bad : &run[i / 2][i % 2];
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

/* The last ones may be missing. False: it is no run's line. */
static bool parse(const char *line, struct gate_run *run, struct gate_time_of_run *time)
{
    uint64_t ns;
    char of[8] = "";
    *time = (struct gate_time_of_run){(double)NAN, (double)NAN, (double)NAN, false};
    const int n = sscanf(line, "%" SCNu64 " %" SCNu64 " %lf %lf %7s %lf", &run->began_ms, &ns, &time->elapsed,
                         &time->in_kernel, of, &time->queued);
    run->value = (double)ns;
    time->exact = strcmp(of, "thread") == 0;
    return n == 2 || n == 4 || (n == 6 && (time->exact || strcmp(of, "machine") == 0));
}

/* A file that isn't there has no runs. */
static int read_side(const char *store, unsigned side, struct gate_timed *t, struct cs_error *err)
{
    char path[PATH_MAX], line[256];
    gate_beside(store, SUFFIX, path);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    int rc = 0;
    const size_t most = t->n + RUNS_MAX;
    while (rc == 0 && t->n < most && fgets(line, sizeof line, f)) {
        struct gate_run one = {.side = side, .machine = (double)NAN};
        struct gate_time_of_run time;
        if (!parse(line, &one, &time)) {
            rc = cs_fail(err, EINVAL, "%s: no list of times", path);
        } else if (cs_array_resize(t->run, t->n + 1) < 0 || cs_array_resize(t->time, t->n + 1) < 0) {
            rc = cs_fail(err, ENOMEM, "out of memory for the runs of %s", path);
        } else {
            t->run[t->n] = one;
            t->time[t->n++] = time;
        }
    }
    fclose(f);
    return rc;
}

int gate_timed_read(const char *const store[2], struct gate_timed *t, struct cs_error *err)
{
    *t = (struct gate_timed){.n = 0};
    int rc = read_side(store[0], 0, t, err);
    const size_t base = t->n;
    rc = rc < 0 ? rc : read_side(store[1], 1, t, err);
    const size_t head = t->n - base;
    if (rc == 0 && base >= GATE_TIMED_MIN && head >= GATE_TIMED_MIN)
        return 0;
    gate_timed_fini(t);
    *t = (struct gate_timed){.few = {base, head}};
    return rc;
}

void gate_timed_fini(struct gate_timed *t)
{
    free(t->run);
    free(t->time);
}
