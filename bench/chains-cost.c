/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a call chain costs a sample: page faults drive the overflow path (as sampler-handler does, which says why), at the
 * bottom of a chain of 20 functions without frame pointers. In turns: no event, our BPF driver without chains, the same with
 * chains, `perf record -g` (frame pointers: it finds what it finds), `perf record --call-graph dwarf`. What stands in the table
 * are differences to the bare event's burst of the same round, without the fifth on either side, with their standard errors;
 * and the bytes of a sample in perf's file.
 *
 *     chains-cost [--quick]      value: ns that a chain of depth 20 adds to a sample */
#include "sampler/perf/monotonic_clock.h"
#include "sampler/session/session.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096UL
#define BURST 1024U
#define ROUNDS_MAX 1200
#define DEPTH 20

enum { NONE, BARE, SAMPLE, CHAIN, PERF_FP, PERF_DWARF, VARIANTS };
static const char *const names[] = {"no event",   "bare event",     "bpf, no chain",
                                    "bpf, chain", "perf record -g", "perf record --call-graph dwarf"};

/* ---- the work: DEPTH calls, then one fault ---- */

static unsigned char *pages;
static volatile unsigned sum;

/* Each its own function with a frame of its own size, kept from being turned into a loop or a jump. */
#define FUNCTION(name, callee)                                                                               \
    static __attribute__((noinline, noclone)) unsigned name(unsigned page)                                   \
    {                                                                                                        \
        volatile unsigned local[sizeof #name] = {page};                                                      \
        return callee(page) + local[0];                                                                      \
    }
static __attribute__((noinline, noclone)) unsigned touch(unsigned page)
{
    return pages[page * PAGE];
}
FUNCTION(f19, touch)
FUNCTION(f18_, f19)
FUNCTION(f17, f18_)
FUNCTION(f16___, f17)
FUNCTION(f15, f16___)
FUNCTION(f14__, f15)
FUNCTION(f13, f14__)
FUNCTION(f12_____, f13)
FUNCTION(f11, f12_____)
FUNCTION(f10_, f11)
FUNCTION(f9, f10_)
FUNCTION(f8__, f9)
FUNCTION(f7, f8__)
FUNCTION(f6_________, f7)
FUNCTION(f5, f6_________)
FUNCTION(f4_, f5)
FUNCTION(f3, f4_)

/* touch, f19 … f3, burst, measure, main: 21; with libc's two and _start 24. The depth is told by the session itself. */
static __attribute__((noinline)) double burst(void)
{
    madvise(pages, BURST * PAGE, MADV_DONTNEED);
    sum += f3(0);
    madvise(pages, BURST * PAGE, MADV_DONTNEED);
    double begin = cs_thread_cpu_seconds();
    for (unsigned p = 0; p < BURST; p++)
        sum += f3(p);
    return (cs_thread_cpu_seconds() - begin) * 1e9 / BURST;
}

/* ---- those who look ---- */

static void turn_on(struct cs_sampler *s, bool on)
{
    if (s)
        (void)cs_session_events_enable(&s->events, 0, s->events.n_open, on);
}

static struct cs_sampler *open_session(bool chains)
{
    static const char *const events[] = {"page-faults"};
    struct cs_sampler_config config = {.events = events,
                                       .n_events = 1,
                                       .period = 1,
                                       .target = CS_TARGET_PID,
                                       .pid = getpid(),
                                       .driver = CS_SAMPLER_DRIVER_BPF,
                                       .chains = chains};
    struct cs_sampler *s = NULL;
    struct cs_error err;
    if (cs_sampler_open(&config, &s, &err) < 0) {
        fprintf(stderr, "chains-cost: %s\n", err.text);
        exit(1);
    }
    turn_on(s, false);
    return s;
}

static int open_bare(void)
{
    struct cs_event event;
    struct cs_error err;
    if (cs_event_parse("page-faults", &event, &err) < 0)
        return -1;
    event.attr.sample_period = 1;
    event.attr.sample_type = PERF_SAMPLE_IP;
    return cs_event_open(&event, 0, -1, &err);
}

struct perf {
    pid_t pid;
    int control, answers;
    char file[40];
};

static bool tell_perf(struct perf *p, const char *order)
{
    char answer[16];
    struct pollfd ready = {.fd = p->answers, .events = POLLIN};
    return p->pid > 0 && write(p->control, order, strlen(order)) > 0 && poll(&ready, 1, 5000) == 1 &&
           read(p->answers, answer, sizeof answer) > 0;
}

static void open_perf(struct perf *p, const char *graph)
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
        execlp("perf", "perf", "record", "-q", "-B", "-N", "-D", "-1", "-e", "page-faults", "-c", "1", "-m",
               "4096", "--call-graph", graph, "-p", self, "-o", p->file, option, (char *)NULL);
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

static double close_perf(struct perf *p)
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

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Mean without a fifth on either side, and its standard error. */
static double trimmed(double *values, unsigned n, double *error)
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

static double difference(double of[ROUNDS_MAX], double from[ROUNDS_MAX], unsigned rounds, double *error)
{
    static double differences[ROUNDS_MAX];
    for (unsigned r = 0; r < rounds; r++)
        differences[r] = of[r] - from[r];
    return trimmed(differences, rounds, error);
}

int main(int argc, char **argv)
{
    static double costs[VARIANTS][ROUNDS_MAX];
    unsigned rounds = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 120 : 600;
    struct cs_error err;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof set, &set);
    pages = mmap(NULL, BURST * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return 1;
    madvise(pages, BURST * PAGE, MADV_NOHUGEPAGE);
    struct cs_sampler *session[VARIANTS] = {[SAMPLE] = open_session(false), [CHAIN] = open_session(true)};
    struct perf perf[VARIANTS] = {{.pid = 0}};
    int bare = open_bare();
    ioctl(bare, PERF_EVENT_IOC_DISABLE, 0);
    open_perf(&perf[PERF_FP], "fp");
    open_perf(&perf[PERF_DWARF], "dwarf");
    for (unsigned r = 0; r < 3; r++) { /* the tables are asked for and come */
        turn_on(session[CHAIN], true);
        burst();
        turn_on(session[CHAIN], false);
        cs_session_drain(session[CHAIN], CS_DRIVER_DRAIN_SOME, &err);
    }
    struct cs_sampler_statistics before, after;
    cs_sampler_statistics(session[CHAIN], &before);
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned k = 0; k < VARIANTS; k++) {
            unsigned v = (k + r) % VARIANTS;
            if (v >= PERF_FP && (r % 4 || !tell_perf(&perf[v], "enable\n"))) /* its file is large */
                continue;
            if (v == BARE)
                ioctl(bare, PERF_EVENT_IOC_ENABLE, 0);
            turn_on(session[v], true);
            costs[v][v >= PERF_FP ? r / 4 : r] = burst();
            turn_on(session[v], false);
            if (v == BARE)
                ioctl(bare, PERF_EVENT_IOC_DISABLE, 0);
            if (v >= PERF_FP)
                tell_perf(&perf[v], "disable\n");
            if (session[v] && r % 8 == 7)
                cs_session_drain(session[v], CS_DRIVER_DRAIN_SOME, &err);
        }
    cs_sampler_statistics(session[CHAIN], &after);
    double samples = (double)(after.delivered - before.delivered),
           frames = (double)(after.chain_frames - before.chain_frames);
    double complete = (double)(after.chain_ends[0] - before.chain_ends[0]);
    unsigned perf_rounds = (rounds + 3) / 4;
    double error, value = difference(costs[CHAIN], costs[SAMPLE], rounds, &error);
    printf("{\"name\": \"chains-cost\", \"value\": %.1f, \"unit\": \"ns that a chain adds to a sample, %.1f "
           "frames\", \"target\": "
           "\"at most 1500 at 20 frames\", \"noise\": %.1f, \"detail\": {\"complete_percent\": %.2f, "
           "\"lost\": %llu",
           value, frames / samples, error, 100 * complete / samples, (unsigned long long)after.lost);
    for (unsigned v = SAMPLE; v < VARIANTS; v++) {
        unsigned n = v >= PERF_FP ? perf_rounds : rounds;
        static double bare_costs[ROUNDS_MAX];
        for (unsigned r = 0; r < n; r++)
            bare_costs[r] = costs[BARE][v >= PERF_FP ? 4 * r : r];
        double above = difference(costs[v], bare_costs, n, &error);
        printf(", \"%s\": {\"above_bare_ns\": [%.1f, %.1f]", names[v], above, error);
        if (v >= PERF_FP)
            printf(", \"bytes_a_sample\": %.0f", close_perf(&perf[v]) / (perf_rounds * (BURST + 1.0)));
        printf("}");
    }
    printf("}}\n");
    cs_sampler_close(session[SAMPLE]);
    cs_sampler_close(session[CHAIN]);
    return 0;
}
