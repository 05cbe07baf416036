/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Page faults as samples: what the benches share that compare who looks at them. A session of ours, a bare event that nobody
 * reads, and `perf record` on this process, each switched on and off between bursts of faults; means and errors of differences. */
#ifndef CS_BENCH_FAULTS_H
#define CS_BENCH_FAULTS_H

#include "sampler/session/session.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void turn_on(struct cs_sampler *s, bool on)
{
    if (s)
        (void)cs_session_events_enable(&s->events, 0, s->events.n_open, on);
}

static inline int open_bare(void)
{
    struct cs_event event;
    struct cs_error err;
    if (cs_event_parse("page-faults", &event, &err) < 0)
        return -1;
    event.attr.sample_period = 1;
    event.attr.sample_type = PERF_SAMPLE_IP;
    return cs_event_open(&event, 0, -1, &err);
}

/* ---- perf record, on this process, sampling while it is told to ---- */

struct perf {
    pid_t pid;
    int control, answers;
    char file[40];
};

static inline bool tell_perf(struct perf *p, const char *order)
{
    char answer[16];
    struct pollfd ready = {.fd = p->answers, .events = POLLIN};
    return p->pid > 0 && write(p->control, order, strlen(order)) > 0 && poll(&ready, 1, 5000) == 1 &&
           read(p->answers, answer, sizeof answer) > 0;
}

/* `graph`: of --call-graph; NULL: no chains. */
static inline void open_perf(struct perf *p, const char *graph)
{
    int control[2], answers[2];
    char self[16], option[48];
    *p = (struct perf){.pid = -1, .file = "/tmp/cyclescope-perf-XXXXXX"};
    int fd = mkstemp(p->file);
    if (fd < 0 || pipe(control) != 0 || pipe(answers) != 0)
        exit(1);
    close(fd);
    snprintf(self, sizeof self, "%d", (int)getpid());
    snprintf(option, sizeof option, "--control=fd:%d,%d", control[0], answers[1]);
    p->pid = fork();
    if (p->pid == 0) {
        cpu_set_t all;
        CPU_ZERO(&all);
        for (unsigned c = 1; c < CPU_SETSIZE; c++)
            CPU_SET(c, &all);
        sched_setaffinity(0, sizeof all, &all);
        dup2(open("/dev/null", O_WRONLY), 1);
        dup2(1, 2);
        if (graph)
            execlp("perf", "perf", "record", "-q", "-B", "-N", "-D", "-1", "-e", "page-faults", "-c", "1",
                   "-m", "4096", "--call-graph", graph, "-p", self, "-o", p->file, option, (char *)NULL);
        else
            execlp("perf", "perf", "record", "-q", "-B", "-N", "-D", "-1", "-e", "page-faults", "-c", "1",
                   "-p", self, "-o", p->file, option, (char *)NULL);
        _exit(127);
    }
    close(control[0]);
    close(answers[1]);
    p->control = control[1];
    p->answers = answers[0];
    if (!tell_perf(p, "disable\n")) {
        kill(p->pid, SIGKILL);
        waitpid(p->pid, NULL, 0);
        p->pid = -1;
    }
}

/* The bytes of its file. */
static inline double close_perf(struct perf *p)
{
    struct stat file = {.st_size = 0};
    if (p->pid > 0) {
        kill(p->pid, SIGINT);
        waitpid(p->pid, NULL, 0);
    }
    close(p->control);
    close(p->answers);
    (void)stat(p->file, &file);
    remove(p->file);
    return (double)file.st_size;
}

/* ---- figures ---- */

static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Mean without a fifth on either side, and its standard error (what was cut off, as if it were at the edge).
 */
static inline double trimmed(double *values, unsigned n, double *error)
{
    unsigned cut = n / 5;
    double total = 0, squares = 0;
    qsort(values, n, sizeof *values, ascending);
    for (unsigned i = cut; i < n - cut; i++)
        total += values[i];
    double mean = total / (n - 2 * cut);
    for (unsigned i = 0; i < n; i++) {
        double v = values[i < cut ? cut : i >= n - cut ? n - cut - 1 : i];
        squares += (v - mean) * (v - mean);
    }
    *error = sqrt(squares / n) / (1 - 2.0 * cut / n) / sqrt(n);
    return mean;
}

#endif
